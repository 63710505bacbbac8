import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { findScript } from '../../../../test/process/scripts.ts'
import { type ArchiveFile, listArchives, readArchive } from '../../src/audit-archive/archive-file.ts'
import { run } from '../operations/terminal.ts'
import { context, DAY, MASTER_KEY_HEX } from '../store/fixtures.ts'
import { forEachStoreWriter, type StoreWriter, withStore } from '../store/store-writer.ts'

const ROWS = 240
const THEN = Date.UTC(2020, 0, 1)
const KEPT_MS = 100 * DAY
const HOUR = 3_600_000
const SCRIPT = fileURLToPath(findScript(new URL('./archive-process.ts', import.meta.url)))
const CHILD = ['--conditions=countersign-source', SCRIPT]

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'countersign-archives-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Kills the process after that many milliseconds of archiving. Resolves to whether it was done. */
async function archiveAndKill({ place }: StoreWriter, nowMs: number, ms: number): Promise<boolean> {
  const words = [JSON.stringify(place), directory, String(nowMs), String(KEPT_MS)]
  const child = spawn(process.execPath, [...CHILD, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  let said = ''
  const heard = new Promise<void>((resolve) => {
    child.stdout.on('data', (bytes: Buffer) => {
      said += bytes.toString()
      if (said.includes('archiving')) resolve()
    })
  })
  await Promise.race([heard, closed])
  await sleep(ms)
  child.kill('SIGKILL')
  await closed
  return said.includes('done')
}

/** The ids of the rows in all files, in order. */
async function readArchived(): Promise<readonly string[]> {
  const ids: string[] = []
  for (const number of await listArchives(directory))
    ids.push(...((await readArchive(directory, number)) as ArchiveFile).rows.map(({ id }) => id))
  return ids
}

const readLeft = async (writer: StoreWriter) =>
  (await writer.sql('SELECT id FROM audit ORDER BY id')).map(({ id }) => String(id))

/** The check of an operator, who compares the files with the store. */
function verify({ place }: StoreWriter) {
  return run(['verify-audit-archive', '--audit-archive-dir', directory, '--json'], {
    COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
    COUNTERSIGN_DATABASE_URL: place.kind === 'postgres' ? place.url : `sqlite:${place.file}`,
  })
}

forEachStoreWriter('audit rows that a process was archiving when it was killed', (newWriter) => {
  it('are neither lost nor archived twice', { tags: 'long' }, async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      for (let i = 0; i < ROWS; i++)
        await store.audit({
          siteId: null,
          action: 'test.done',
          target: `t${i}`,
          detail: {},
          context: context(THEN + i),
        })
    })
    const ids = await readLeft(writer)
    expect(ids).toHaveLength(ROWS)
    let [isDone, halfDone] = [false, 0]
    // Each process comes when the claim of the one before has expired.
    for (let [ms, turn] = [1, 0]; !isDone; ms = ms * 1.5 + 5, turn++) {
      isDone = await archiveAndKill(writer, THEN + KEPT_MS + 2 * DAY + turn * HOUR, ms)
      const [archived, left] = [await readArchived(), await readLeft(writer)]
      // Rows are archived in their order, each of them once, and removed afterwards.
      expect(archived).toEqual(ids.slice(0, archived.length))
      expect(left).toEqual(ids.slice(ROWS - left.length))
      expect(archived.length + left.length).toBeGreaterThanOrEqual(ROWS)
      if (archived.length > 0 && left.length > 0) halfDone++
    }
    expect(halfDone).toBeGreaterThan(1)
    expect(await readArchived()).toEqual(ids)
    expect(await readLeft(writer)).toEqual([])
    const { code, said } = await verify(writer)
    expect(code).toBe(0)
    expect(JSON.parse(said)).toMatchObject({ ok: true, files: ROWS / 4, rows: ROWS })
    // No draft of a killed process is left.
    expect(readdirSync(directory)).toHaveLength(ROWS / 4)
  })
})
