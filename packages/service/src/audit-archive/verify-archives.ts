import { existsSync } from 'node:fs'
import { type ArchiveFault, listArchives, readArchive, toArchiveName } from './archive-file.ts'

export type ArchivesCheck =
  | {
      readonly ok: true
      readonly files: number
      readonly rows: number
      /** Of the last file; undefined when there is none. */
      readonly sha256: string | undefined
    }
  | {
      readonly ok: false
      /** The first file that is wrong. */
      readonly file: string
      readonly fault: ArchiveFault | 'missing' | 'wrong_previous' | 'other_last'
    }

export interface ArchivesToVerify {
  /** The number of the first file, if older ones were moved elsewhere. Default: 1. */
  readonly from?: number | undefined
  /** The last archive that the store has recorded, which must be the last file. */
  readonly expected?: { readonly number: number; readonly sha256: string } | undefined
  readonly onFile?: (done: number, total: number) => void
}

/**
 * Reads the archives of a directory and checks that each is intact and that each continues the one
 * before. Without `expected`, it cannot notice that the last files are missing. Rejects when the
 * directory cannot be read; the service creates it with the first archive.
 */
export async function verifyArchives(
  directory: string,
  { from = 1, expected, onFile = () => {} }: ArchivesToVerify = {},
): Promise<ArchivesCheck> {
  const hasArchives = expected?.number !== 0 || existsSync(directory)
  const numbers = hasArchives ? (await listArchives(directory)).filter((number) => number >= from) : []
  const last = Math.max(from - 1, numbers.at(-1) ?? 0, expected?.number ?? 0)
  let [rows, previous] = [0, from === 1 ? '0'.repeat(64) : undefined]
  for (let number = from; number <= last; number++) {
    const archive = await readArchive(directory, number)
    const file = toArchiveName(number)
    if (typeof archive !== 'object') return { ok: false, file, fault: archive ?? 'missing' }
    if (previous !== undefined && archive.previousSha256 !== previous)
      return { ok: false, file, fault: 'wrong_previous' }
    previous = archive.sha256
    rows += archive.rows.length
    if (number === expected?.number && previous !== expected.sha256)
      return { ok: false, file, fault: 'other_last' }
    onFile(number - from + 1, last - from + 1)
  }
  const files = last - from + 1
  return { ok: true, files, rows, sha256: files === 0 ? undefined : previous }
}
