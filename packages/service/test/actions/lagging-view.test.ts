import { type EndpointId, endpointList, endpoints } from '@countersign/core/contract'
import { describe, expect, it } from 'vitest'
import { tooFarProblem } from '../../src/log/waiters.ts'
import { newSiteId, openAdminNode } from '../admin-node.ts'
import type { Ask } from '../node.ts'
import { newParty } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'

type Change = (site: string, did: string) => Ask

/** `node.ask` fails for an answer that the contract of its endpoint does not name. */
const changes: readonly (readonly [EndpointId, Change])[] = [
  ['create_site', () => ({ body: { site_id: newSiteId() } })],
  ['change_site', (site_id) => ({ params: { site_id }, body: { name: 'Shop' } })],
  ['add_issuer', (site_id, did) => ({ params: { site_id }, body: { issuer: did } })],
  ['start_drill', (site_id) => ({ params: { site_id }, body: {} })],
  ['cut_off_site', (site_id) => ({ params: { site_id }, body: { confirm: site_id } })],
  ['cut_off_issuer', (site_id) => ({ params: { site_id }, body: { issuer: 'did:web:service.example' } })],
  ['revoke_holder', (site_id, did) => ({ params: { site_id }, body: { holder_key: did } })],
]

forEachSharedStore('a node whose view lags behind its store', (open) => {
  it.each(changes)('answers %s with a problem that the contract names', async (id, toAsk) => {
    const A = newSiteId()
    const node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
    const { did } = await newParty()
    node.deps.views.waitFor = async () => {
      throw tooFarProblem()
    }
    const { status, code } = await node.admin(id, toAsk(A, did))
    expect([status, code]).toEqual([503, 'revocation_view_stale'])
  })

  it('does not repeat an answer before it has applied what the answer says', async () => {
    const A = newSiteId()
    const node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
    const fields = { 'idempotency-key': 'the-same-key' }
    const create = () => node.admin('create_person', { body: { name: 'Ada', roles: [] }, fields })
    const { status, body } = await create()
    expect(status).toBe(201)
    const { waitFor } = node.deps.views
    node.deps.views.waitFor = async () => {
      throw tooFarProblem()
    }
    expect((await create()).code).toBe('revocation_view_stale')
    node.deps.views.waitFor = waitFor
    expect((await create()).body).toEqual(body)
  })
})

describe('the contract', () => {
  it('names this problem at every endpoint that repeats answers, and where a credential is issued', () => {
    const replayed = endpointList.filter(({ idempotency }) => idempotency === 'replayed')
    expect(replayed.length).toBeGreaterThan(20)
    for (const { id, problems } of [
      ...replayed,
      { id: 'create_offer', problems: endpoints.create_offer.problems },
      { id: 'claim_offer', problems: endpoints.claim_offer.problems },
    ])
      expect(problems, id).toContain('revocation_view_stale')
  })
  it('names an unavailable store wherever a key is looked up', () => {
    for (const { id, auth, problems } of endpointList)
      if (auth.includes('key') || auth === 'oauth_client' || auth === 'session')
        expect(problems, id).toContain('store_unavailable')
  })
})
