import { type SiteId, toStateLines } from '@countersign/core'
import { expect, it } from 'vitest'
import { AppliedLog } from '../../src/store/checkpoints/applied-log.ts'
import { readToEnd, writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { restoreLog } from '../../src/store/checkpoints/restore-log.ts'
import type { Store } from '../../src/store/store.ts'
import { context, credentialId, NOW, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, withStore } from '../store/store-writer.ts'
import { beginHistory, change, type History } from './history.ts'

/** The log read from its first entry, without a checkpoint. */
async function readWhole(store: Store): Promise<AppliedLog> {
  const log = new AppliedLog(store.epoch)
  await readToEnd(store, log)
  return log
}

async function readRestored(store: Store): Promise<AppliedLog> {
  const { log, from } = await restoreLog(store)
  expect(from).toBeDefined()
  await readToEnd(store, log)
  return log
}

/** Everything that a log says about what happened. */
function verdicts(log: AppliedLog, histories: readonly History[]): object {
  const times = [0, NOW - 1000, NOW + 5000, NOW + 50_000, NOW + 500_000]
  return histories.map(({ siteId, issuer, users, credentials, tokens }) => {
    const view = log.views.get(siteId)
    if (view === undefined) return undefined
    return {
      head: view.head,
      state: toStateLines(view),
      size: view.revocationCount,
      last: [log.lastEntryAbout(siteId), log.lastEntryAbout(siteId, issuer)],
      users: users.map((user) => times.map((time) => view.userRevocation(user, time))),
      credentials: credentials.map((id) => view.credentialRevocation(id)),
      tokens: tokens.map((id) => view.tokenRevocation(id)),
      others: [view.credentialRevocation(credentialId()), view.userRevocation(ppid(), 0)],
      captured: log.capture(() => undefined)?.sites.find((site) => site.siteId === siteId)?.state,
      end: [log.position, log.capture(() => undefined)?.digest],
    }
  })
}

/** Numbers from 0 to below 1, the same for the same seed. */
function picks(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

forEachStoreWriter('checkpoints', (newWriter) => {
  it('restore what the whole log says, whatever has happened and however often they were written', {
    tags: 'long',
  }, async () => {
    for (const seed of [1, 2, 3]) {
      await withStore(await newWriter(), async (store) => {
        const pick = picks(seed)
        const histories = [await beginHistory(store), await beginHistory(store), await beginHistory(store)]
        for (let step = 0; step < 120; step++) {
          const history = histories[Math.floor(pick() * 3)] as History
          await change(store, history, pick, NOW + step * 1500)
          if (pick() < 0.15) await writeCheckpointAtEnd(store, NOW)
        }
        const whole = verdicts(await readWhole(store), histories)
        expect(verdicts(await readRestored(store), histories)).toEqual(whole)
        await writeCheckpointAtEnd(store, NOW)
        expect(verdicts(await readRestored(store), histories)).toEqual(whole)
        const [first] = histories
        const pages = await store.sitePages(first?.siteId as SiteId, headOf(await readWhole(store), first))
        expect(pages.length).toBeGreaterThan(0)
        expect(pages.length).toBeLessThan(8)
      })
    }
  })

  it('are written again only for sites that have changed, and not at all when nothing has', async () => {
    await withStore(await newWriter(), async (store) => {
      const [one, other] = [await beginHistory(store), await beginHistory(store)]
      const first = await writeCheckpointAtEnd(store, NOW)
      expect(await writeCheckpointAtEnd(store, NOW + 1)).toEqual(first)
      await store.revokeUser({ siteId: one.siteId, ppid: ppid(), reason: undefined }, context())
      const rows = async () =>
        new Map((await store.checkpointSites({ after: '', limit: 9 })).map((row) => [row.siteId, row]))
      const before = await rows()
      expect(await writeCheckpointAtEnd(store, NOW + 1)).toMatchObject({
        position: first.position + 1,
        basePosition: 0,
      })
      const after = await rows()
      expect(after.get(other.siteId)).toEqual(before.get(other.siteId))
      expect(after.get(one.siteId)).toMatchObject({ seq: 3, pages: 1 })
    })
  })

  it('hold no secret of a site', async () => {
    await withStore(await newWriter(), async (store) => {
      const { siteId } = await beginHistory(store)
      const { log } = await restoreLog(store)
      await readToEnd(store, log)
      const view = log.views.get(siteId)
      if (view !== undefined) view.subjectKey = new Uint8Array(32).fill(7)
      expect(JSON.stringify(view && toStateLines(view))).toContain('subject_key')
      expect(JSON.stringify(log.capture(() => undefined)?.sites.map(({ state }) => state))).not.toContain(
        'subject_key',
      )
    })
  })
})

function headOf(log: AppliedLog, history: History | undefined): number {
  return (history && log.views.get(history.siteId)?.head.seq) ?? 0
}
