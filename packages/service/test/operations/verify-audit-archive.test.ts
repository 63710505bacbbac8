import { appendFileSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { archiveAudit } from '../../src/audit-archive/archive-audit.ts'
import { toArchiveName } from '../../src/audit-archive/archive-file.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { quiet } from '../log/log-double.ts'
import { context, DAY, MASTER_KEY, NOW } from '../store/fixtures.ts'
import { run } from './terminal.ts'

const home = mkdtempSync(join(tmpdir(), 'countersign-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const [dataDir, written, archives] = ['data', 'written', 'archives'].map((name) => join(home, name)) as [
  string,
  string,
  string,
]

/** A store that has archived seven rows in three files. */
beforeAll(async () => {
  const store = await openSqliteStore({
    file: join(dataDir, 'countersign.db'),
    log: quiet,
    masterKey: MASTER_KEY,
    onForged: () => {},
    onFatal: (fault) => {
      throw fault
    },
  })
  for (let i = 0; i < 7; i++) {
    const row = { siteId: null, action: 'test.done', target: `t${i}`, detail: {}, context: context(NOW + i) }
    await store.audit(row)
  }
  await archiveAudit({
    store,
    clock: { nowMs: () => NOW + 10 * DAY },
    log: quiet as never,
    meters: { rowsRemoved: () => {}, auditRowsArchived: () => {} },
    directory: written,
    keptMs: DAY,
    owner: 'a',
    signal: new AbortController().signal,
    rowsMax: 3,
  })
  await store.close()
})
beforeEach(() => {
  rmSync(archives, { recursive: true, force: true })
  cpSync(written, archives, { recursive: true })
})

const file = (number: number) => join(archives, toArchiveName(number))
const verify = (...argv: readonly string[]) => run(['verify-audit-archive', ...argv])
const withStore = () => verify('--data-dir', dataDir, '--audit-archive-dir', archives)
const json = async (...argv: readonly string[]) => {
  const { code, said } = await verify(...argv, '--json')
  return { code, ...JSON.parse(said) }
}

test('intact archives are reported with the hash of the last file', async () => {
  const { code, said } = await withStore()
  expect(code).toBe(0)
  const last = JSON.parse(readFileSync(file(3), 'utf8').trimEnd().split('\n').at(-1) ?? '')
  expect(said).toBe(
    `The archives are intact: 3 files with 7 rows. The last file has the SHA-256 ${last.sha256}.`,
  )
  expect(await json(archives)).toEqual({ code: 0, ok: true, files: 3, rows: 7, sha256: last.sha256 })
})

test('a changed row is found, in any file', async () => {
  for (const number of [1, 2, 3]) {
    const text = readFileSync(file(number), 'utf8')
    writeFileSync(file(number), text.replace('test.done', 'test.gone'))
    const { code, said } = await verify(archives)
    expect(code).toBe(3)
    expect(said).toContain(`first bad file: ${toArchiveName(number)}`)
    expect(said).toContain('fault: wrong_hash, its contents are not those that were written')
    writeFileSync(file(number), text)
  }
})

test('a missing file is found; the last one only in the comparison with the store', async () => {
  rmSync(file(2))
  expect(await json(archives)).toEqual({
    code: 3,
    ok: false,
    file: toArchiveName(2),
    fault: 'missing',
  })
  rmSync(file(3))
  expect(await json(archives)).toMatchObject({ code: 0, files: 1 })
  const { code, said } = await withStore()
  expect(code).toBe(3)
  expect(said).toContain(`first bad file: ${toArchiveName(2)}`)
})

test('older files may be elsewhere, when the command says so', async () => {
  rmSync(file(1))
  expect(await json(archives)).toMatchObject({ code: 3, file: toArchiveName(1), fault: 'missing' })
  expect(await json(archives, '--from', '2')).toMatchObject({ code: 0, files: 2, rows: 4 })
})

test('files that are exchanged, cut, or rewritten with right hashes are found', async () => {
  renameSync(file(1), file(4))
  renameSync(file(2), file(1))
  expect(await json(archives)).toMatchObject({ code: 3, file: toArchiveName(1), fault: 'wrong_number' })
  renameSync(file(1), file(2))
  renameSync(file(4), file(1))
  appendFileSync(file(3), 'x')
  expect(await json(archives)).toMatchObject({ code: 3, file: toArchiveName(3), fault: 'unreadable' })
})

test('a chain of other files with right hashes differs from the store', async () => {
  const { writeArchive, readArchive } = await import('../../src/audit-archive/archive-file.ts')
  const lines = async function* () {
    yield '{"type":"row","id":"audit_other"}'
  }
  const second = await readArchive(archives, 2)
  if (typeof second !== 'object') throw new Error('the second file is not intact')
  rmSync(file(3))
  await writeArchive(archives, { number: 3, previousSha256: second.sha256, writtenAtMs: 0 }, lines())
  expect(await json(archives)).toMatchObject({ code: 0, files: 3 })
  expect((await withStore()).said).toContain('fault: other_last')
  rmSync(file(3))
  await writeArchive(archives, { number: 3, previousSha256: 'a'.repeat(64), writtenAtMs: 0 }, lines())
  expect(await json(archives)).toMatchObject({ code: 3, file: toArchiveName(3), fault: 'wrong_previous' })
})

test('without a directory there is nothing to check', async () => {
  const none = await verify('--data-dir', dataDir)
  expect(none.code).toBe(2)
  expect(none.noted).toContain('audit_archive_dir')
  const empty = mkdtempSync(join(home, 'empty-'))
  expect(await verify(empty)).toMatchObject({ code: 0, said: 'There are no archives.' })
  expect((await verify(join(home, 'nowhere'))).code).toBe(1)
  const gone = await verify('--data-dir', dataDir, '--audit-archive-dir', join(home, 'nowhere'))
  expect(gone).toMatchObject({ code: 1, noted: expect.stringContaining('ENOENT') })
  expect((await verify(archives, '--from', '0')).code).toBe(2)
})
