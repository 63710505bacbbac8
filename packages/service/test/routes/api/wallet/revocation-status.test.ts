import { describe, expect, it } from 'vitest'
import { anonymous, begin as beginAt, keyOf, NOWHERE, openNode, operator } from '../../../node.ts'
import { delegated, NOW, newCredentialId, newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const UNKNOWN = { status: 'unknown', revoked: null }

forEachSharedStore('GET /api/wallet/revocation-status', (open) => {
  const begin = () => beginAt(open())

  it('A184 tells active, revoked, expired and unknown apart, without a key and without reasons', async () => {
    const { node, store, issued } = await begin()
    const [active, revoked, ended] = [
      await issued(),
      await issued(),
      await issued({ validUntilMs: NOW + 3000 }),
    ]
    for (const { document } of [active, revoked, ended]) await node.tokenFor(document)
    await node.revokeCredential(revoked.id, { reason: 'secret reason' })
    await node.later(3000)
    const unknown = newCredentialId()
    const { body } = await node.status([active.id, revoked.id, ended.id, unknown, active.id])
    expect(body).toEqual({
      success: true,
      as_of: { epoch: store.epoch, time: '2026-11-14T12:00:03Z' },
      statuses: {
        [active.id]: { status: 'active', revoked: false },
        [revoked.id]: { status: 'revoked', revoked: true, revoked_at: '2026-11-14T12:00:00Z' },
        [ended.id]: { status: 'expired', revoked: false },
        [unknown]: UNKNOWN,
      },
    })
  })

  it('tells a key of the site, and the operator, the type and the reason', async () => {
    const { node, A, issued } = await begin()
    const [one, two] = [await issued(), await issued()]
    for (const { document } of [one, two]) await node.tokenFor(document)
    await node.revokeCredential(one.id, { reason: 'rotated' })
    await node.revokeUser(two.ppid, { reason: 'left' })
    for (const caller of [keyOf(A), operator]) {
      const { statuses } = (await node.status([one.id, two.id], caller)).body
      expect(statuses[one.id]).toMatchObject({
        status: 'revoked',
        revocation_type: 'credential',
        reason: 'rotated',
      })
      expect(statuses[two.id]).toMatchObject({ status: 'revoked', revocation_type: 'user', reason: 'left' })
    }
  })

  it('says revoked of what has expired as well', async () => {
    const { node, issued } = await begin()
    const { id, document } = await issued({ validUntilMs: NOW + 3000 })
    await node.tokenFor(document)
    await node.revokeCredential(id)
    await node.later(5000)
    expect((await node.status(id)).body.statuses[id].status).toBe('revoked')
  })

  describe('A188: other sites', () => {
    it('a key is told of its own site only', async () => {
      const { node, A, B, issued } = await begin()
      const { id, document } = await issued()
      await node.tokenFor(document)
      await node.revokeCredential(id, { reason: 'secret reason' })
      expect((await node.status(id, keyOf(B))).body.statuses[id]).toEqual(UNKNOWN)
      expect((await node.status(id, keyOf(B), `&site_id=${A}`)).body.statuses[id]).toEqual(UNKNOWN)
      expect((await node.status(id, keyOf(B), `&site_id=${A}`)).body.as_of.seq).toBeUndefined()
      expect((await node.status(id, anonymous, `&site_id=${B}`)).body.statuses[id]).toEqual(UNKNOWN)
      expect((await node.status(id, anonymous, `&site_id=${A}`)).body.statuses[id].status).toBe('revoked')
    })

    it('a site that merely names an id changes nothing of what others are told', async () => {
      const { node, A, B, issued } = await begin()
      const { id, document } = await issued()
      const unseen = newCredentialId()
      await node.tokenFor(document)
      for (const named of [id, unseen])
        await node.revokeCredential(named, { siteId: B, caller: keyOf(B), reason: 'mischief' })
      const { statuses } = (await node.status([id, unseen])).body
      expect(statuses).toEqual({ [id]: { status: 'active', revoked: false }, [unseen]: UNKNOWN })
      expect((await node.status([id, unseen], keyOf(A))).body.statuses).toEqual(statuses)
    })

    it('a site that knows the same id later changes nothing either', async () => {
      const { node, B, issued } = await begin()
      const credentialId = newCredentialId()
      const [mine, theirs] = [await issued({ credentialId }), await issued({ credentialId, siteId: B })]
      await node.tokenFor(mine.document)
      node.clock.pass(5)
      await node.tokenFor(theirs.document)
      await node.revokeCredential(credentialId, { siteId: B, caller: keyOf(B) })
      expect((await node.status(credentialId)).body.statuses[credentialId].status).toBe('active')
      expect((await node.status(credentialId, keyOf(B))).body.statuses[credentialId].status).toBe('revoked')
    })

    it('a site that has revoked an id it never saw is told so', async () => {
      const { node, A } = await begin()
      const id = newCredentialId()
      await node.revokeCredential(id)
      expect((await node.status(id, keyOf(A))).body.statuses[id]).toMatchObject({
        status: 'revoked',
        revocation_type: 'credential',
      })
      expect((await node.status(id)).body.statuses[id]).toEqual(UNKNOWN)
      expect((await node.status(id, anonymous, `&site_id=${A}`)).body.statuses[id]).toEqual(UNKNOWN)
    })
  })

  it('a delegated credential is revoked with its parent', async () => {
    const { node, issued } = await begin()
    const [one, two] = [await newParty(), await newParty()]
    const root = await issued({ holderKey: one.did, delegable: true })
    const child = await delegated(root, one, two)
    await node.tokenFor(child.document, {}, { holder: two })
    expect((await node.status(child.id)).body.statuses[child.id].status).toBe('active')
    await node.revokeCredential(root.id)
    expect((await node.status(child.id)).body.statuses[child.id].status).toBe('revoked')
  })

  describe('min_seq', () => {
    it('I-4: is answered from a view at least that new, through any node', async () => {
      const { node, store, A, issued } = await begin()
      const other = await openNode(store, A)
      for (let i = 0; i < 10; i++) {
        const { id, document } = await issued()
        await node.tokenFor(document)
        const { body } = await node.revokeCredential(id)
        const told = (await other.status(id, anonymous, `&site_id=${A}&min_seq=${body.epoch}.${body.seq}`))
          .body
        expect([told.statuses[id].status, told.as_of.seq >= body.seq]).toEqual(['revoked', true])
      }
    })

    it('is 503 when the view does not get there, and for sites that are not the caller’s or do not exist', async () => {
      const { store, A, B } = await begin()
      const node = await openNode(store, A, { waitMsMax: 20 })
      const id = newCredentialId()
      const min = `&min_seq=${store.epoch}.1`
      expect((await node.status(id, anonymous, `&site_id=${A}&min_seq=${store.epoch}.99`)).code).toBe(
        'revocation_view_stale',
      )
      expect((await node.status(id, anonymous, `&site_id=${A}&min_seq=another0.1`)).code).toBe(
        'revocation_view_stale',
      )
      expect((await node.status(id, anonymous, `&site_id=${NOWHERE}${min}`)).code).toBe(
        'revocation_view_stale',
      )
      expect((await node.status(id, keyOf(B), `&site_id=${A}${min}`)).code).toBe('revocation_view_stale')
      expect((await node.status(id, keyOf(A), `&site_id=${A}${min}`)).body.as_of.seq).toBe(2)
    })
  })

  it('I-18: 503 and not "active" while this node cannot know', async () => {
    const { node, issued } = await begin()
    const { id, document } = await issued()
    await node.tokenFor(document)
    node.deps.views.readiness = () => ({ ready: false, why: 'stale' })
    expect((await node.status(id)).code).toBe('revocation_view_stale')
  })

  it('422 for none, for too many, and for what is no id (A185)', async () => {
    const { node } = await begin()
    const ids = Array.from({ length: 101 }, newCredentialId)
    for (const wrong of [[], ids, ['nonsense'], ['']])
      expect((await node.status(wrong)).code).toBe('validation_failed')
    expect(Object.keys((await node.status(ids.slice(1))).body.statuses)).toHaveLength(100)
    expect((await node.status(ids[0] ?? '', anonymous, '&min_seq=e0000000.1')).code).toBe('validation_failed')
  })
})
