import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { checkSnapshot, type SiteId, SiteView, type SnapshotLine, toStateLines } from '@countersign/core'
import { expect, it } from 'vitest'
import { readSnapshot } from '../../packages/sdk/src/feed/snapshot-reader.ts'
import type { Service } from '../../packages/service/src/service.ts'
import { writeCheckpointAtEnd } from '../../packages/service/src/store/checkpoints/checkpoint-at-end.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { beginHistory, change, type History, moveBase } from '../../packages/service/test/log/history.ts'
import { createPicks } from '../../packages/service/test/log/verdicts.ts'
import { credentialId, ppid } from '../../packages/service/test/store/fixtures.ts'
import { forEachStoreWriter, withNode, withStore } from '../../packages/service/test/store/store-writer.ts'

const START = Date.now() - 3_600_000

/** Two sites with random changes, checkpoints in between, and entries after the last checkpoint. */
async function write(store: Store, seed: number): Promise<History[]> {
  const pick = createPicks(seed)
  const histories = [await beginHistory(store), await beginHistory(store)]
  for (let n = 0; n < 160; n++) {
    await change(store, histories[n % 2] as History, pick, START + n * 1000)
    if (n % 50 === 49) await writeCheckpointAtEnd(store, START + n * 1000)
  }
  return histories
}

/** The view of a guard that has read the snapshot of the service, and the types of its lines. */
async function follow({ deps }: Service, siteId: SiteId, encoding: 'gzip' | 'identity') {
  const verifier = { verifierId: 'guard', promise: undefined, isObserver: true }
  const stream = await deps.snapshots.open({ siteId, keyId: 'key', verifier })
  const body = Readable.from(stream.pieces(encoding))
  const view = new SiteView({ siteId })
  const types: string[] = []
  const { head, end, received, load } = await readSnapshot(
    encoding === 'gzip' ? body.pipe(createGunzip()) : body,
    (first) => {
      const loading = view.beginLoad(first)
      const add = (line: SnapshotLine) => {
        types.push(line.type)
        loading.add(line)
      }
      return { ...loading, add }
    },
  )
  stream.release()
  const key = deps.keys.findFeedKey(end.kid)
  const proof = key && (await checkSnapshot(head, end, received, key))
  if (proof === undefined) throw new Error('the snapshot is not signed')
  expect(load.commit(proof)).toBe('loaded')
  return { view, head, types }
}

/** Everything that both say about what happened at the site. */
function listVerdicts(view: SiteView | undefined, { users, credentials, tokens }: History): unknown {
  if (view === undefined) throw new Error('there is no view')
  const times = Array.from({ length: 35 }, (_, n) => START + (n - 1) * 5000)
  return {
    head: view.head,
    state: toStateLines(view),
    count: view.revocationCount,
    users: users.map((user) => times.map((time) => view.userRevocation(user, time))),
    credentials: credentials.map((id) => view.credentialRevocation(id)),
    tokens: tokens.map((id) => view.tokenRevocation(id)),
    others: [view.credentialRevocation(credentialId()), view.userRevocation(ppid(), 0)],
  }
}

forEachStoreWriter('a guard that reads the pages of a service', (newWriter) => {
  it('says what the service says, from a compressed or a plain snapshot', { tags: 'long' }, async () => {
    for (const seed of [1, 2, 3]) {
      const writer = await newWriter()
      const histories = await withStore(writer, (store) => write(store, seed))
      await withNode(writer, async (_store, service) => {
        for (const history of histories)
          for (const encoding of ['gzip', 'identity'] as const) {
            const { view, head, types } = await follow(service, history.siteId, encoding)
            const own = service.deps.views.view(history.siteId)
            expect(listVerdicts(view, history)).toEqual(listVerdicts(own, history))
            expect(head.base).toEqual({ seq: 0, hash: '0'.repeat(64) })
            // From pages, and from the entries after them.
            expect(types).toEqual(expect.arrayContaining(['users', 'credentials', 'user']))
          }
      })
    }
  })

  it('learns the base of the log, and still says what the service says', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const histories = await withStore(writer, async (store) => {
      const written = await write(store, 4)
      await moveBase(store)
      return written
    })
    await withNode(writer, async (_store, service) => {
      for (const history of histories) {
        const { view, head } = await follow(service, history.siteId, 'gzip')
        const own = service.deps.views.view(history.siteId)
        expect(listVerdicts(view, history)).toEqual(listVerdicts(own, history))
        expect(head.base.seq).toBeGreaterThan(20)
        expect(head.base.seq).toBeLessThan(head.seq)
      }
    })
  })
})
