import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { SiteId } from '@countersign/core'
import { afterAll, expect, it } from 'vitest'
import { findScript } from '../../../../test/process/scripts.ts'
import { cutLog } from '../../src/log/cut-log.ts'
import { readToEnd, writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { restoreLog } from '../../src/store/checkpoints/restore-log.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY } from '../store/fixtures.ts'
import { audit, newFile, removeFiles, type StoreWriter, withStore } from '../store/store-writer.ts'
import { createPicks, judgeAll } from './verdicts.ts'
import { beginYears, changeAt, createClaims } from './years.ts'

afterAll(removeFiles)

const START = Date.UTC(2021, 0, 1)
const END = START + 3 * 365 * DAY
const BEFORE = END - 396 * DAY
const SCRIPT = fileURLToPath(findScript(new URL('./cut-process.ts', import.meta.url)))
const CHILD = ['--conditions=countersign-source', SCRIPT]

async function views(store: Store) {
  const { log } = await restoreLog(store)
  await readToEnd(store, log)
  return (siteId: SiteId) => log.views.get(siteId)
}

/** Kills the process after that many milliseconds of cutting. Resolves to whether it was done. */
async function cutAndKill(file: string, ms: number): Promise<boolean> {
  const child = spawn(process.execPath, [...CHILD, file, String(BEFORE), String(END)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  const heard = new Promise<void>((resolve) => {
    child.stdout.on('data', (bytes: Buffer) => {
      said += bytes.toString()
      if (said.includes('cutting')) resolve()
    })
  })
  await Promise.race([heard, once(child, 'close')])
  await sleep(ms)
  child.kill('SIGKILL')
  await once(child, 'close').catch(() => undefined)
  return said.includes('done')
}

it('a process that is killed at any moment of a cut leaves a store with the same verdicts', {
  tags: 'long',
}, async () => {
  const file = newFile()
  const writer: StoreWriter = { place: { kind: 'sqlite', file }, sql: async () => [] }
  const { claims, before } = await withStore(writer, async (store) => {
    const years = await beginYears(store, START)
    const pick = createPicks(11)
    for (let i = 0; i < 260; i++)
      await changeAt(store, years, pick, Math.floor(START + ((END - START) * i) / 260))
    await writeCheckpointAtEnd(store, END)
    const made = createClaims([years], createPicks(12), { count: 400, fromMs: START, nowMs: END })
    return { claims: made, before: judgeAll(await views(store), made, [END, END + 100 * DAY]) }
  })
  let isDone = false
  let killed = 0
  // The later kills come when most of the work is done.
  for (let ms = 1; !isDone; ms = ms * 2 + 10, killed++) {
    isDone = await cutAndKill(file, ms)
    await withStore(writer, async (store) => {
      expect(judgeAll(await views(store), claims, [END, END + 100 * DAY])).toEqual(before)
    })
  }
  expect(killed).toBeGreaterThan(1)
  await withStore(writer, async (store) => {
    const order = { store, beforeMs: BEFORE, context: context(END) }
    expect(await cutLog(order)).toMatchObject({ entries: 0, revocations: 0, rows: 0 })
    expect((await store.checkpoint())?.basePosition).toBeGreaterThan(100)
  })
  expect(await audit(writer)).toMatchObject({
    code: 0,
    said: expect.stringContaining('before the base of the log'),
  })
})
