import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type SiteId, toStateLines } from '@countersign/core'
import { expect, it } from 'vitest'
import { findScript } from '../../../../test/process/scripts.ts'
import { AppliedLog } from '../../src/store/checkpoints/applied-log.ts'
import { readToEnd, writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { restoreLog } from '../../src/store/checkpoints/restore-log.ts'
import type { Store } from '../../src/store/store.ts'
import { context, NOW, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, openNode, openPlace, withStore } from '../store/store-writer.ts'
import { beginHistory } from './history.ts'

/** The log from its checkpoint must say the same as the whole log. */
async function expectSame(store: Store): Promise<void> {
  const whole = new AppliedLog(store.epoch)
  await readToEnd(store, whole)
  const { log } = await restoreLog(store)
  await readToEnd(store, log)
  const describeLog = (each: AppliedLog) =>
    [...each.views]
      .sort()
      .map(([siteId, view]) => [siteId, view.head, view.revocationCount, toStateLines(view)])
  expect(describeLog(log)).toEqual(describeLog(whole))
}

const WRITES = ['putSitePage', 'replaceCheckpoint', 'removeReplacedPages'] as const

/** A store that stops answering after some writes, as if its process had ended. */
function crashAfter(store: Store, writes: number): Store {
  let left = writes
  const crashing = Object.fromEntries(
    WRITES.map((name) => [
      name,
      {
        value: async (...args: readonly unknown[]) => {
          if (left-- <= 0) throw new Error('the process has ended')
          return (store[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args)
        },
      },
    ]),
  )
  return Object.create(store, crashing)
}

const revoke = (store: Store, siteId: SiteId) =>
  store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())

forEachStoreWriter('writing a checkpoint', (newWriter) => {
  it('leaves a usable store behind when it ends after any of its writes', async () => {
    await withStore(await newWriter(), async (store) => {
      const sites = [await beginHistory(store), await beginHistory(store)].map(({ siteId }) => siteId)
      let crashes = 0
      for (let round = 0; round < 3; round++) {
        for (let writes = 0, isDone = false; !isDone; writes++) {
          for (const siteId of sites) await revoke(store, siteId)
          const before = await store.checkpoint()
          isDone = await writeCheckpointAtEnd(crashAfter(store, writes), NOW).then(
            () => true,
            () => false,
          )
          if (!isDone) {
            crashes++
            expect(await store.checkpoint()).toEqual(before)
          }
          await expectSame(store)
        }
      }
      expect(crashes).toBeGreaterThan(9)
    })
  })

  it('by a process that is killed leaves a usable store behind', { tags: 'long' }, async () => {
    const writer = await newWriter()
    await withStore(writer, beginHistory)
    const script = fileURLToPath(findScript(new URL('./checkpoint-process.ts', import.meta.url)))
    for (let round = 0; round < 3; round++) {
      const args = ['--conditions=countersign-source', script, JSON.stringify(writer.place)]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = new Promise((resolve) => child.on('exit', resolve))
      let position = 0
      for await (const line of createInterface(child.stdout)) {
        position = Number(line)
        if (position > 20 * (round + 1)) break
      }
      // At any moment of the next checkpoint.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 30))
      child.kill('SIGKILL')
      await ended
      await withStore(writer, async (store) => {
        expect((await store.checkpoint())?.position).toBeGreaterThanOrEqual(position)
        await expectSame(store)
        expect(await writeCheckpointAtEnd(store, NOW)).toMatchObject({ position: await store.logPosition() })
        await expectSame(store)
      })
    }
  })

  it('goes on while the service runs, and the next start uses it', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const options = { checkpoints: { entriesMin: 5, everyMs: 20 } }
    const isShared = writer.place.kind === 'postgres'
    const nodes = [await openNode(writer, options), ...(isShared ? [await openNode(writer, options)] : [])]
    const { siteId } = await beginHistory(nodes[0]?.store as Store)
    const users = Array.from({ length: 120 }, ppid)
    for (const [i, user] of users.entries())
      await nodes[i % nodes.length]?.store.revokeUser({ siteId, ppid: user, reason: undefined }, context())
    const logged = () => nodes.flatMap((node) => node.logged).join('')
    await expect.poll(logged).toContain('a checkpoint of the log was written')
    await expect.poll(async () => (await nodes[0]?.store.checkpoint())?.position).toBeGreaterThan(100)
    expect(logged()).not.toContain('"level":50')
    for (const { service } of nodes) expect(service.deps.views.readiness()).toEqual({ ready: true })
    for (const node of nodes) await node.close()
    const store = await openPlace(writer.place)
    const { from } = await restoreLog(store)
    expect(from?.checkpoint.position).toBeGreaterThan(100)
    await expectSame(store)
    await store.close()
    const again = await openNode(writer, options)
    const { views } = again.service.deps
    for (const user of users) expect(views.view(siteId)?.userRevocation(user, 0)).toBeDefined()
    expect(await again.service.deps.meters.text()).toContain('countersign_log_audited_ratio')
    await again.close()
  })
})
