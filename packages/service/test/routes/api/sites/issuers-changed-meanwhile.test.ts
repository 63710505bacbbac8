import type { DidKey, SiteId } from '@countersign/core'
import { beforeEach, expect, it } from 'vitest'
import { type KeySet, readKeySet } from '../../../../src/keys/oauth-keys.ts'
import { toIssuerId } from '../../../../src/store/issuer-id.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { newJwk } from '../../../jwks.ts'
import { keyOf } from '../../../node.ts'
import { newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const ISSUER = 'https://idp.example'
const ISSUER_ID = toIssuerId(ISSUER)
const WEB = 'did:web:issuer.example'
const JWKS_URI = 'https://idp.example/keys'
const KEPT = 'https://api.shop.example'
const REMOVED = 'https://old.shop.example'
const SENDER = { type: 'backchannel_logout', issuer: ISSUER, audience: ['web'], subject: 'sub' }

forEachSharedStore('an issuer that is changed while its keys are fetched', (open) => {
  let A: SiteId
  let node: AdminNode
  /** Happens during every fetch. */
  let meanwhile: () => Promise<unknown>
  let fetches: number

  beforeEach(async () => {
    A = newSiteId()
    node = await openAdminNode(open(), A)
    meanwhile = async () => {}
    fetches = 0
    const set = await readKeySet({ keys: [newJwk('EC')] })
    const { didWeb } = node.deps
    Object.assign(node.deps, {
      didWeb: { fetch: (did: string) => during(() => didWeb.fetch(did)) },
      keySets: { fetch: () => during(async () => set as KeySet) },
    })
    await node.admin('create_site', { body: { site_id: A } })
  })
  const during = async <T>(fetch: () => Promise<T>): Promise<T> => {
    fetches++
    await meanwhile()
    return fetch()
  }
  const once = (act: () => Promise<unknown>) => async () => {
    if (fetches === 1) await act()
  }

  const ask = (id: 'add_issuer' | 'change_issuer' | 'get_issuer', issuer: string, body?: object) =>
    node.admin(id, { params: { site_id: A, issuer }, ...(body && { body }), caller: keyOf(A) })
  const add = async (members: object = {}) => {
    const jwks = { keys: [newJwk('EC')] }
    const body = { type: 'oauth', issuer: ISSUER, audience: [KEPT, REMOVED], jwks, ...members }
    expect((await ask('add_issuer', '', body)).status).toBe(201)
  }
  const change = (body: object, issuer = ISSUER_ID) => ask('change_issuer', issuer, body)
  const show = async (issuer = ISSUER_ID) => (await ask('get_issuer', issuer)).body

  it('keeps what the other request has restricted', async () => {
    await add({ signals: [SENDER] })
    meanwhile = once(async () => {
      expect((await change({ audience: [KEPT], signals: [] })).status).toBe(200)
    })
    expect((await change({ jwks_uri: JWKS_URI })).status).toBe(200)
    expect(await show()).toMatchObject({ audience: [KEPT], signals: [], jwks_uri: JWKS_URI })
    expect(node.deps.views.view(A)?.oauthIssuer(ISSUER)?.policy.audience).toEqual([KEPT])
    expect(await node.deps.store.derivedFault(Date.now())).toBeUndefined()
  })

  it('validates both changes together', async () => {
    await add({ required_claims: { typ: 'Bearer' } })
    meanwhile = once(async () => {
      expect((await change({ required_claims: {} })).status).toBe(200)
    })
    const late = await change({ jwks_uri: JWKS_URI, require_at_jwt: false })
    expect(late).toMatchObject({ status: 422, code: 'validation_failed' })
    expect(await show()).toMatchObject({ required_claims: {}, require_at_jwt: true, key_source: 'jwks' })
  })

  it('needs a confirmation for another session_claim than the first, which came meanwhile', async () => {
    await add()
    meanwhile = once(() => change({ session_claim: 'sid' }))
    const late = await change({ jwks_uri: JWKS_URI, session_claim: 'session' })
    expect(late).toMatchObject({ status: 422, code: 'validation_failed' })
    expect(await show()).toMatchObject({ session_claim: 'sid', key_source: 'jwks' })
  })

  it('does not replace keys that were pinned meanwhile with those of the document', async () => {
    const [published, pinned] = [await newParty(), await newParty()]
    const keys: DidKey[] = [{ id: 'key-1', key: published.key.publicKey }]
    node.documents.set(WEB, keys)
    expect((await ask('add_issuer', '', { issuer: WEB })).status).toBe(201)
    await change({ status: 'distrusted' }, WEB)
    fetches = 0
    meanwhile = once(async () => {
      expect((await change({ keys: [pinned.keyId] }, WEB)).status).toBe(200)
    })
    expect((await change({ status: 'trusted' }, WEB)).status).toBe(200)
    const { keys: now, status } = await show(WEB)
    expect([status, now.map(({ key }: { key: string }) => key)]).toEqual(['trusted', [pinned.keyId]])
  })

  it('does not fetch the keys again when only the label and the scope were changed', async () => {
    await add()
    meanwhile = () => change({ label: 'Acme', scope: ['orders:read'] })
    expect((await change({ jwks_uri: JWKS_URI })).status).toBe(200)
    expect(fetches).toBe(1)
    expect(await show()).toMatchObject({ label: 'Acme', scope: ['orders:read'], jwks_uri: JWKS_URI })
  })

  it('503 and unchanged when it is changed during every fetch', async () => {
    await add()
    meanwhile = async () => {
      expect((await change({ token_ttl_seconds_max: 600 + fetches })).status).toBe(200)
    }
    const late = await change({ jwks_uri: JWKS_URI, audience: [REMOVED] })
    expect(late).toMatchObject({ status: 503, code: 'store_unavailable' })
    expect(fetches).toBe(5)
    expect(await show()).toMatchObject({
      audience: [KEPT, REMOVED],
      token_ttl_seconds_max: 605,
      key_source: 'jwks',
    })
  })
})
