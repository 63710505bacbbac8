import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type ArchiveFile,
  listArchives,
  parseArchive,
  readArchive,
  toArchiveName,
  writeArchive,
} from '../../src/audit-archive/archive-file.ts'

const GENESIS = '0'.repeat(64)
let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'archive-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

async function* lines(...ids: readonly string[]): AsyncGenerator<string> {
  for (const id of ids) yield JSON.stringify({ type: 'row', id, target: 'ä' })
}
const head = (number: number, previousSha256 = GENESIS) => ({ number, previousSha256, writtenAtMs: 0 })
const file = (number: number) => join(directory, toArchiveName(number))

describe('an archive of audit rows', () => {
  it('is read as it was written, and its hash can be checked with sha256sum', async () => {
    const sha256 = await writeArchive(directory, head(1), lines('a', 'b'))
    expect(await readArchive(directory, 1)).toEqual({
      number: 1,
      previousSha256: GENESIS,
      sha256,
      rows: [
        { id: 'a', line: '{"type":"row","id":"a","target":"ä"}' },
        { id: 'b', line: '{"type":"row","id":"b","target":"ä"}' },
      ],
    })
    const text = readFileSync(file(1), 'utf8')
    const last = text.trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toEqual({ type: 'end', rows: 2, sha256 })
    const before = text.slice(0, text.length - last.length - 1)
    expect(createHash('sha256').update(before).digest('hex')).toBe(sha256)
  })

  it('is for its owner only, and so is a new directory', async () => {
    const inside = join(directory, 'new', 'archives')
    await writeArchive(inside, head(1), lines('a'))
    expect(statSync(join(inside, toArchiveName(1))).mode & 0o777).toBe(0o600)
    expect(statSync(inside).mode & 0o777).toBe(0o700)
  })

  it('never replaces a file, and leaves no draft', async () => {
    await writeArchive(directory, head(1), lines('a'))
    const before = readFileSync(file(1), 'utf8')
    await expect(writeArchive(directory, head(1), lines('b'))).rejects.toThrow('EEXIST')
    expect(readFileSync(file(1), 'utf8')).toBe(before)
    expect(readdirSync(directory)).toEqual([toArchiveName(1)])
  })

  it('has no file under its name while it is written, and none if that fails', async () => {
    const failing = async function* () {
      yield* lines('a')
      expect(existsSync(file(1))).toBe(false)
      throw new Error('the store is down')
    }
    await expect(writeArchive(directory, head(1), failing())).rejects.toThrow('the store is down')
    expect(readdirSync(directory)).toEqual([])
  })

  it('leaves nothing when there is no space for all of it', () => {
    const script = join(import.meta.dirname, 'small-files-process.ts')
    // A file may have so many KiB, as on a disk that is nearly full.
    const run = (kib: string) =>
      execFileSync(
        'bash',
        [
          '-c',
          `trap '' XFSZ; ulimit -f ${kib}; exec "$0" --conditions=countersign-source --no-warnings "$1" "$2"`,
          process.execPath,
          script,
          directory,
        ],
        { encoding: 'utf8' },
      )
    expect(run('500')).toBe('EFBIG')
    expect(readdirSync(directory)).toEqual([])
    expect(run('5000')).toBe('written')
    expect(readdirSync(directory)).toEqual([toArchiveName(1)])
  })

  it('removes drafts that a crash has left, and nothing else', async () => {
    writeFileSync(`${file(1)}.abc.new`, 'half')
    writeFileSync(join(directory, 'notes.new'), 'mine')
    await writeArchive(directory, head(1), lines('a'))
    expect(readdirSync(directory).sort()).toEqual([toArchiveName(1), 'notes.new'].sort())
  })

  it('is listed by number; other files are not', async () => {
    for (const number of [2, 10, 100_000_000]) writeFileSync(file(number), '')
    for (const name of ['audit-1.ndjson', 'audit-000000003.ndjson', 'audit-00000004.ndjson.new', 'x'])
      writeFileSync(join(directory, name), '')
    mkdirSync(join(directory, 'sub'))
    expect(await listArchives(directory)).toEqual([2, 10, 100_000_000])
  })

  it('is missing, under another number, or damaged', async () => {
    await writeArchive(directory, head(2), lines('a', 'b'))
    expect(await readArchive(directory, 1)).toBeUndefined()
    writeFileSync(file(1), readFileSync(file(2)))
    expect(await readArchive(directory, 1)).toBe('wrong_number')
    appendFileSync(file(2), '{}\n')
    expect(await readArchive(directory, 2)).toBe('unreadable')
    writeFileSync(file(3), '')
    expect(await readArchive(directory, 3)).toBe('unreadable')
    mkdirSync(file(4))
    await expect(readArchive(directory, 4)).rejects.toThrow('EISDIR')
  })

  it('is not intact after any byte was changed, added or removed', async () => {
    await writeArchive(directory, head(1), lines('a', 'b', 'c'))
    const bytes = readFileSync(file(1))
    const intact = parseArchive(bytes) as ArchiveFile
    expect(intact.rows).toHaveLength(3)
    fc.assert(
      fc.property(
        fc.nat({ max: bytes.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        fc.constantFrom('change', 'add', 'remove', 'cut'),
        (at, by, how) => {
          const other = Buffer.from(bytes)
          other[at] = (bytes[at] ?? 0) ^ by
          const changed = {
            change: other,
            add: Buffer.concat([bytes.subarray(0, at), Buffer.of(by), bytes.subarray(at)]),
            remove: Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]),
            cut: bytes.subarray(0, at),
          }[how]
          const found = parseArchive(changed)
          // White space in the last line means the same.
          if (typeof found === 'object') expect(found).toEqual(intact)
          else expect(['unreadable', 'wrong_hash']).toContain(found)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('is unreadable when its last line counts other rows, although its hash is right', () => {
    const body = '{"type":"audit_archive","version":1,"number":1,"previous_sha256":"'.concat(
      `${GENESIS}"}\n{"type":"row","id":"a"}\n`,
    )
    const sha256 = createHash('sha256').update(body).digest('hex')
    const toText = (rows: number) => Buffer.from(`${body}${JSON.stringify({ type: 'end', rows, sha256 })}\n`)
    expect(parseArchive(toText(1))).toMatchObject({ sha256 })
    expect(parseArchive(toText(2))).toBe('unreadable')
  })
})
