import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import { formatTime } from '@countersign/core'
import { permissions } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import { createApiKey } from '../../src/actions/api-keys.ts'
import { updateAllStatuses } from '../../src/actions/list-statuses.ts'
import { toCredentialState } from '../../src/actions/revocation-status.ts'
import { createPairwiseSecret } from '../../src/keys/ids.ts'
import { pairwisePurpose } from '../../src/sealing/purposes.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import { toCredentialName } from '../../src/store/credential-name.ts'
import type { CredentialRow, ListedStatus } from '../../src/store/operations/credentials.ts'
import type { Store } from '../../src/store/store.ts'
import { inject } from '../inject.ts'
import { context, DAY, MASTER_KEY, newIssuer, newSite, ppid, seen } from '../store/fixtures.ts'
import { forEachStoreWriter, type OpenNode, openNode } from '../store/store-writer.ts'

/** A list of active credentials corrects wrong ones in it, so it comes last. */
const STATUSES = ['revoked', 'expired', 'active'] as const satisfies ListedStatus[]
const BEGIN = Date.now() - DAY

interface Site {
  readonly siteId: SiteId
  readonly apiKey: string
  readonly users: readonly Ppid[]
  /** The site trusts it until it is cut off. */
  readonly issuer: string
  readonly credentialIds: CredentialId[]
}

async function beginSite(store: Store): Promise<Site> {
  const { siteId } = newSite()
  const pairwiseSecretSealed = createSealer(MASTER_KEY).seal(pairwisePurpose(siteId), createPairwiseSecret())
  await store.createSite(newSite({ siteId, pairwiseSecretSealed }), context(BEGIN))
  const added = await newIssuer(siteId)
  await store.addIssuer(added, context(BEGIN))
  const order = { siteId, permissions, label: undefined, expiresInSeconds: undefined }
  const { secret } = await createApiKey({ store }, order, context(Date.now()))
  const users = Array.from({ length: 24 }, ppid)
  return { siteId, apiKey: secret, users, issuer: added.issuer, credentialIds: [] }
}

/** Makes credentials known: of all users, a third of them expired, some of the bad issuer. */
async function record(store: Store, site: Site, count: number): Promise<void> {
  const nowMs = Date.now()
  const made = Array.from({ length: count }, (_, i) =>
    seen(site.siteId, {
      ppid: site.users[i % site.users.length] as Ppid,
      createdMs: nowMs - 60_000,
      validFromMs: nowMs - 60_000,
      validUntilMs: i % 3 === 0 ? nowMs - 1000 : nowMs + DAY,
      ...(i % 7 === 0 && { issuer: site.issuer }),
    }),
  )
  for (let i = 0; i < made.length; i += 300) await store.recordCredentials(made.slice(i, i + 300), nowMs + i)
  site.credentialIds.push(...made.map(({ credentialId }) => credentialId))
}

/** Records credentials of the first user at one node, and finds them by their stored status. */
function openRecords(writing: Store, reading: Store, { siteId, users }: Pick<Site, 'siteId' | 'users'>) {
  return {
    async recordAt(viewSeq: number | undefined): Promise<CredentialId> {
      const nowMs = Date.now()
      const validUntilMs = nowMs + DAY
      const credential = seen(siteId, { ppid: users[0] as Ppid, createdMs: nowMs, validUntilMs })
      await writing.recordCredentials([{ ...credential, viewSeq }], nowMs)
      return credential.credentialId
    },
    findStored: async (status: ListedStatus | 'new') =>
      (await reading.credentials(siteId, { status }, { after: undefined, limit: 10 }))
        .map(({ credentialId }) => credentialId)
        .toSorted(),
  }
}

/** Holds the next write of statuses that this node makes, with what it has read of its view. */
function holdNextWrite(store: Store): { readonly isHeld: Promise<void>; release(): void } {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const classify = store.classifyCredentials
  store.classifyCredentials = async (...asked) => {
    store.classifyCredentials = classify
    held.resolve()
    await released.promise
    return classify(...asked)
  }
  return { isHeld: held.promise, release: released.resolve }
}

/** All pages of `?status=`, as a caller of this node gets them. */
async function list({ service }: OpenNode, site: Site, status: ListedStatus): Promise<readonly string[]> {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const answer = await inject(service.admin ?? service.app, {
      method: 'GET',
      url: `/api/sites/${site.siteId}/credentials?status=${status}&limit=150${cursor}`,
      headers: { 'x-api-key': site.apiKey },
    })
    expect([answer.statusCode, answer.json().code]).toEqual([200, undefined])
    const { items, next_cursor } = answer.json()
    for (const item of items) {
      expect(item.status).toBe(status)
      ids.push(item.credential_id)
    }
    if (next_cursor === null) break
    cursor = `&cursor=${next_cursor}`
  }
  expect(new Set(ids).size).toBe(ids.length)
  return ids
}

/** What the view of a node says about every known credential, newest first. */
async function judgeAll({ service: { deps } }: OpenNode, { siteId }: Site) {
  const ids = new Map<ListedStatus, string[]>(STATUSES.map((status) => [status, []]))
  for (let after: string | undefined; ; ) {
    const page: readonly CredentialRow[] = await deps.store.credentials(siteId, {}, { after, limit: 500 })
    for (const row of page) {
      const { status } = toCredentialState(deps, row, deps.clock.nowMs())
      ids.get(status as ListedStatus)?.push(row.credentialId)
    }
    const last = page.at(-1)
    if (last === undefined) return ids
    after = toCredentialName(last)
  }
}

async function change(stores: readonly [Store, Store], site: Site, round: number): Promise<void> {
  const [one, two] = stores
  const { siteId, users, issuer, credentialIds } = site
  const now = context(Date.now())
  const user = (place: number) => ({ siteId, ppid: users[place] as Ppid, reason: undefined })
  await one.revokeUser(user(round), now)
  if (round > 0) await two.reinstateUser(user(round - 1), now)
  const { ppid: left } = user(10 + round)
  await two.signOutUsers({ siteId, ppids: [left], beforeMs: now.atMs, reason: undefined }, now)
  await record(one, site, 70)
  for (const [i, credentialId] of credentialIds.slice(-8).entries())
    await (i % 2 === 0 ? one : two).revokeCredential({ siteId, credentialId, reason: undefined }, now)
  if (round !== 2) return
  const body = { issuer, before: formatTime(Math.floor(now.atMs / 1000) * 1000) }
  await two.cutOff({ siteId, kind: 'issuer.cut_off', target: issuer, body, reason: undefined }, now)
}

async function catchUpAll(nodes: readonly OpenNode[]): Promise<void> {
  const position = await nodes[0]?.store.logPosition()
  await Promise.all(nodes.map(({ service }) => service.deps.views.waitFor(position ?? 0)))
}

forEachStoreWriter('two nodes that classify credentials at the same time', (newWriter) => {
  /** An embedded store has one node, whose requests run at the same time. */
  const withNodes = async (work: (one: OpenNode, two: OpenNode) => Promise<void>) => {
    const writer = await newWriter()
    const one = await openNode(writer)
    const two = writer.place.kind === 'postgres' ? await openNode(writer) : one
    try {
      await work(one, two)
    } finally {
      await one.close()
      if (two !== one) await two.close()
    }
  }

  it('have complete and correct pages of each status', { tags: 'long' }, () =>
    withNodes(async (one, two) => {
      const nodes = [one, two]
      const site = await beginSite(one.store)
      const catchUp = () => catchUpAll(nodes)
      await record(one.store, site, 900)
      await catchUp()
      let revoked: readonly string[] = []
      for (let round = 0; round < 4; round++) {
        const readMeanwhile = async (node: OpenNode) => {
          for (let turn = 0; turn < 2; turn++) {
            await updateAllStatuses(node.service.deps)
            // What was revoked before is revoked, whatever the other node is writing.
            const listed = new Set(await list(node, site, 'revoked'))
            expect(revoked.filter((id) => !listed.has(id))).toEqual([])
            const active = new Set(await list(node, site, 'active'))
            expect(revoked.filter((id) => active.has(id))).toEqual([])
          }
        }
        await Promise.all([
          change([one.store, two.store], site, round),
          readMeanwhile(one),
          readMeanwhile(two),
          updateAllStatuses(one.service.deps),
          updateAllStatuses(two.service.deps),
        ])
        await catchUp()
        const expected = await judgeAll(one, site)
        for (const status of STATUSES) {
          expect(expected.get(status)?.length).toBeGreaterThan(20)
          const lists = await Promise.all(nodes.map((node) => list(node, site, status)))
          for (const ids of lists) expect(ids).toEqual(expected.get(status))
        }
        revoked = expected.get('revoked') ?? []
      }
      expect([...(await judgeAll(two, site)).values()].flat()).toHaveLength(site.credentialIds.length)
    }),
  )

  it('do not overwrite what was classified with a later view', { tags: 'long' }, () =>
    withNodes(async (one, two) => {
      const nodes = [one, two]
      const site = await beginSite(one.store)
      await record(one.store, site, 30)
      await catchUpAll(nodes)
      const [, credentialId] = site.credentialIds as [CredentialId, CredentialId]
      const slow = holdNextWrite(two.store)
      const isUpdated = updateAllStatuses(two.service.deps)
      await slow.isHeld
      const revocation = { siteId: site.siteId, credentialId, reason: undefined }
      await one.store.revokeCredential(revocation, context(Date.now()))
      await catchUpAll(nodes)
      await updateAllStatuses(one.service.deps)
      expect(await list(one, site, 'revoked')).toEqual([credentialId])
      slow.release()
      await isUpdated
      for (const node of nodes) {
        expect(await list(node, site, 'revoked')).toEqual([credentialId])
        expect(await list(node, site, 'active')).not.toContain(credentialId)
      }
    }),
  )

  it(
    'two nodes that record the first credentials of a site at once begin one classification',
    { tags: 'long' },
    () =>
      withNodes(async (one, two) => {
        const { siteId, users } = await beginSite(one.store)
        await catchUpAll([one, two])
        const viewSeq = one.service.deps.views.view(siteId)?.head.seq ?? 0
        const nowMs = Date.now()
        const all = Array.from({ length: 20 }, () =>
          seen(siteId, { ppid: users[0] as Ppid, createdMs: nowMs, validUntilMs: nowMs + DAY }),
        )
        await Promise.all(
          all.map((each, i) =>
            (i % 2 === 0 ? one : two).store.recordCredentials([{ ...each, viewSeq }], nowMs),
          ),
        )
        const active = await one.store.credentials(
          siteId,
          { status: 'active' },
          { after: undefined, limit: 50 },
        )
        expect(active).toHaveLength(all.length)
      }),
  )

  it(
    'what a view has accepted is recorded as active, unless a later view is being applied',
    { tags: 'long' },
    () =>
      withNodes(async (one, two) => {
        const nodes = [one, two]
        const site = await beginSite(one.store)
        const { siteId } = site
        const { recordAt, findStored } = openRecords(one.store, two.store, site)
        await catchUpAll(nodes)
        const viewSeq = one.service.deps.views.view(siteId)?.head.seq ?? 0
        // Also before the first node has classified: the revocation below is then applied to it.
        const unseen = await recordAt(undefined)
        const early = await recordAt(viewSeq)
        const known = await recordAt(viewSeq)
        expect(await findStored('active')).toEqual([early, known].toSorted())
        expect(await findStored('new')).toEqual([unseen])
        // The user is revoked while a credential waits to be recorded.
        await two.store.revokeUser(
          { siteId, ppid: site.users[0] as Ppid, reason: undefined },
          context(Date.now()),
        )
        await catchUpAll(nodes)
        await updateAllStatuses(two.service.deps)
        const late = await recordAt(viewSeq)
        expect(await findStored('new')).toEqual([late])
        await updateAllStatuses(one.service.deps)
        expect(await findStored('revoked')).toEqual([early, known, unseen, late].toSorted())
      }),
  )

  it(
    'A274, I-18: a view that is ahead of the log, as before a fail-over, classifies nothing',
    { tags: 'long' },
    () =>
      withNodes(async (one, two) => {
        const nodes = [one, two]
        const { siteId, users } = await beginSite(one.store)
        await catchUpAll(nodes)
        const seq = one.service.deps.views.view(siteId)?.head.seq ?? 0
        const { recordAt, findStored } = openRecords(one.store, two.store, { siteId, users })
        const ahead = await recordAt(seq + 1)
        expect(await findStored('new')).toEqual([ahead])
        expect(await one.store.claimClassification(siteId, seq + 3)).toBeUndefined()
        expect(
          await one.store.classifyCredentials(siteId, seq + 3, [{ credentialId: ahead, status: 'active' }]),
        ).toBe(false)
        const current = await recordAt(seq)
        expect(await findStored('active')).toEqual([current])
        // Also when a node has begun to classify.
        expect(await one.store.claimClassification(siteId, seq + 3)).toBeUndefined()
        const later = await recordAt(seq + 3)
        expect(await findStored('new')).toEqual([ahead, later].toSorted())
        await two.store.revokeUser({ siteId, ppid: users[0] as Ppid, reason: undefined }, context(Date.now()))
        await catchUpAll(nodes)
        await updateAllStatuses(two.service.deps)
        expect(await findStored('revoked')).toEqual([ahead, current, later].toSorted())
      }),
  )
})
