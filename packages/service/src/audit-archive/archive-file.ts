import { createHash, randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchivedRow } from '../store/operations/audit-archive.ts'

/** A file of audit rows that was read and is intact. */
export interface ArchiveFile {
  readonly number: number
  /** What the last line of the archive before it states. */
  readonly previousSha256: string
  /** Of all bytes before the last line. */
  readonly sha256: string
  readonly rows: readonly ArchivedRow[]
}

/** Why a file is not an intact archive. */
export type ArchiveFault = 'unreadable' | 'wrong_hash' | 'wrong_number'

export interface ArchiveHead {
  readonly number: number
  readonly previousSha256: string
  readonly writtenAtMs: number
}

const VERSION = 1
const DRAFT_END = '.new'
/** Text that is written at a time. */
const WRITE_CHARS = 65_536
const NAME = /^audit-(\d{8,15})\.ndjson$/
const SHA256 = /^[0-9a-f]{64}$/

export function toArchiveName(number: number): string {
  return `audit-${String(number).padStart(8, '0')}.ndjson`
}

/** The numbers of the archives in a directory, in order. Rejects when it cannot be read. */
export async function listArchives(directory: string): Promise<readonly number[]> {
  const numbers = (await readdir(directory)).flatMap((name) => {
    const number = Number(NAME.exec(name)?.[1])
    return toArchiveName(number) === name ? [number] : []
  })
  return numbers.sort((a, b) => a - b)
}

/**
 * Writes an archive that only its owner can read, under a temporary name first, and returns its
 * SHA-256. When this resolves, the file is durable under its name. Never replaces an archive:
 * rejects with `EEXIST`. If writing fails, it leaves no draft; it removes drafts of earlier
 * processes.
 */
export async function writeArchive(
  directory: string,
  head: ArchiveHead,
  lines: AsyncIterable<string>,
): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await removeDrafts(directory)
  const file = join(directory, toArchiveName(head.number))
  const draft = `${file}.${randomBytes(6).toString('hex')}${DRAFT_END}`
  try {
    const sha256 = await writeDraft(draft, head, lines)
    // A link fails if the name is taken; a rename would replace the file.
    await link(draft, file)
    return sha256
  } finally {
    await rm(draft, { force: true })
    await syncDirectory(directory)
  }
}

async function writeDraft(
  draft: string,
  { number, previousSha256, writtenAtMs }: ArchiveHead,
  lines: AsyncIterable<string>,
): Promise<string> {
  const handle = await open(draft, 'wx', 0o600)
  try {
    const hash = createHash('sha256')
    const write = async (text: string) => {
      await handle.appendFile(text)
      hash.update(text)
    }
    const head = { type: 'audit_archive', version: VERSION, number, previous_sha256: previousSha256 }
    let rows = 0
    let waiting = toLine({ ...head, written_at: new Date(writtenAtMs).toISOString() })
    for await (const line of lines) {
      waiting += `${line}\n`
      rows++
      if (waiting.length < WRITE_CHARS) continue
      await write(waiting)
      waiting = ''
    }
    await write(waiting)
    const sha256 = hash.digest('hex')
    await handle.appendFile(toLine({ type: 'end', rows, sha256 }))
    await handle.sync()
    return sha256
  } finally {
    await handle.close()
  }
}

/** Removes what processes that were killed have left. */
export async function removeDrafts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith('audit-') && name.endsWith(DRAFT_END))
      await rm(join(directory, name), { force: true })
  }
}

export async function removeArchive(directory: string, number: number): Promise<void> {
  await rm(join(directory, toArchiveName(number)), { force: true })
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Undefined when there is no such file. Rejects when the file cannot be read. */
export async function readArchive(
  directory: string,
  number: number,
): Promise<ArchiveFile | ArchiveFault | undefined> {
  let bytes: Buffer
  try {
    bytes = await readFile(join(directory, toArchiveName(number)))
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw fault
  }
  const archive = parseArchive(bytes)
  return typeof archive === 'object' && archive.number !== number ? 'wrong_number' : archive
}

export function parseArchive(bytes: Uint8Array): ArchiveFile | ArchiveFault {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.at(-1) !== 0x0a) return 'unreadable'
  const endsAt = buffer.lastIndexOf(0x0a, -2) + 1
  const end = parseLine(buffer.toString('utf8', endsAt, buffer.length - 1))
  const [first = '', ...lines] = buffer.toString('utf8', 0, Math.max(endsAt - 1, 0)).split('\n')
  const head = parseLine(first)
  if (end?.type !== 'end' || head?.type !== 'audit_archive' || head.version !== VERSION) return 'unreadable'
  const { number, previous_sha256: previousSha256 } = head
  const { sha256 } = end
  if (!isCount(number) || !isSha256(previousSha256) || !isSha256(sha256)) return 'unreadable'
  const found = createHash('sha256').update(buffer.subarray(0, endsAt)).digest('hex')
  if (found !== sha256) return 'wrong_hash'
  const rows = lines.flatMap((line) => {
    const row = parseLine(line)
    return row?.type === 'row' && typeof row.id === 'string' ? [{ id: row.id, line }] : []
  })
  if (rows.length !== lines.length || rows.length !== end.rows) return 'unreadable'
  return { number, previousSha256, sha256, rows }
}

function parseLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

const toLine = (value: object) => `${JSON.stringify(value)}\n`
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0
const isSha256 = (value: unknown): value is string => typeof value === 'string' && SHA256.test(value)
