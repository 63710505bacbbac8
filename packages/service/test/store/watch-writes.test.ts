import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { RunOperation } from '../../src/store/operations/all.ts'
import { watchWrites } from '../../src/store/watch-writes.ts'

/** A store that can be told which operations fail. */
function watched(failing: Set<string>) {
  const asked: string[] = []
  const run = async (name: string) => {
    asked.push(name)
    if (failing.has(name)) throw new StoreUnavailable(`no ${name}`)
  }
  const log = { error: vi.fn(), info: vi.fn() }
  return { asked, log, watch: watchWrites(run, log, 5) }
}
const change = (run: RunOperation) => run('putSecret', ['name', 'sealed']).catch(() => undefined)

it('B13: a store that cannot be written is marked until a probe succeeds, and says so once each time', async () => {
  const failing = new Set(['putSecret', 'probeWrite'])
  const { watch, log } = watched(failing)
  await change(watch.run)
  await expect.poll(watch.fault).toBe('no probeWrite')
  await change(watch.run)
  expect(log.error).toHaveBeenCalledTimes(1)
  failing.clear()
  await expect.poll(watch.fault).toBe(undefined)
  expect(log.info).toHaveBeenCalledTimes(1)
  watch.close()
})

it('a change that fails alone marks nothing, nor does a read that fails, nor a change that the store refuses', async () => {
  const failing = new Set(['putSecret', 'logState'])
  const { watch, asked, log } = watched(failing)
  await watch.run('logState', []).catch(() => undefined)
  expect(asked).toEqual(['logState'])
  await change(watch.run)
  await expect.poll(() => asked).toEqual(['logState', 'putSecret', 'probeWrite'])
  await sleep(1)
  expect(watch.fault()).toBe(undefined)
  expect(log.error).not.toHaveBeenCalled()
})

it('while the mark stands one probe runs at a time, and none after the store was closed', async () => {
  const { watch, asked } = watched(new Set(['putSecret', 'probeWrite']))
  await Promise.all([change(watch.run), change(watch.run), change(watch.run)])
  await expect.poll(watch.fault).toBeDefined()
  watch.close()
  const probes = () => asked.filter((name) => name === 'probeWrite').length
  const before = probes()
  await sleep(30)
  await change(watch.run)
  expect(probes()).toBe(before)
})
