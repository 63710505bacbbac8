import type { SiteId } from '@countersign/core'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { anonymous, keyOf, NOWHERE, openNode } from '../../../node.ts'
import { forEachSharedStore } from '../../../stores.ts'

const ISSUER = 'https://idp.example'
const OTHER = 'https://other.example'
const AUDIENCE = 'https://api.shop.example'

let pair: { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey }
beforeAll(async () => {
  pair = await generateKeyPair('ES256')
})

forEachSharedStore('users by what people know', (open) => {
  let A: SiteId
  let node: AdminNode
  beforeEach(async () => {
    A = newSiteId()
    node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
  })
  const addIssuer = async (issuer: string, members: object = {}) => {
    const jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), alg: 'ES256', kid: 'k1' }] }
    const body = { type: 'oauth', issuer, audience: [AUDIENCE], jwks, session_claim: 'sid', ...members }
    const answer = await node.admin('add_issuer', { params: { site_id: A }, body })
    expect(answer.status).toBe(201)
    return answer.body.issuer_id as string
  }
  const signed = (issuer: string, subject: string, claims: object = {}) => {
    const second = Math.floor(node.clock.wallMs / 1000)
    return new SignJWT({ scope: 'orders:read', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(AUDIENCE)
      .setIssuedAt(second)
      .setExpirationTime(second + 600)
      .sign(pair.privateKey)
  }
  const show = async (jwt: string) => (await node.bearer(jwt)).code ?? 200
  const issue = async (user_ref = 'alice') => {
    const body = { site_id: A, user_ref, scope: ['orders:read'] }
    return (await node.admin('issue_credential', { body })).body
  }
  const showCredential = async (issued: { credential: never }) =>
    (await node.show(issued.credential)).code ?? 200
  const ask = (id: 'revoke_user' | 'reinstate_user' | 'sign_out_user', form: object, caller = keyOf(A)) =>
    node.ask(id, { caller, body: { site_id: A, ...form } })
  const resolve = (form: object, caller = keyOf(A), site_id: string = A) =>
    node.ask('resolve_user', { caller, params: { site_id }, body: form })

  describe('a user_ref', () => {
    it('revokes credentials and access tokens of all issuers that use it, in one transaction', async () => {
      await addIssuer(ISSUER, { user_ref_from_subject: true })
      const mine = await issue()
      const jwt = await signed(ISSUER, 'alice')
      expect([await showCredential(mine), await show(jwt)]).toEqual([200, 200])
      const { status, body } = await ask('revoke_user', { user_ref: 'alice', reason: 'left' })
      expect(status).toBe(200)
      expect(body).toMatchObject({
        credential_id: mine.credential_id,
        revocation_type: 'user',
        already_revoked: false,
        entries: [
          { ppid: mine.ppid, already_revoked: false },
          { ppid: expect.stringMatching(/^did:service:ppid_j_/), already_revoked: false },
        ],
      })
      expect(body.entries.map(({ seq }: { seq: number }) => seq)).toEqual([body.seq - 1, body.seq])
      expect([await showCredential(mine), await show(jwt)]).toEqual(['credential_revoked', 'token_invalid'])
      // An issuer that is trusted later shares the id.
      await addIssuer(OTHER, { user_ref_from_subject: true })
      expect(await show(await signed(OTHER, 'alice'))).toBe('token_invalid')
      expect(await show(await signed(OTHER, 'bob'))).toBe(200)
    })

    it('I-17: again gives the first answer, and adds nothing to the log', async () => {
      const first = await ask('revoke_user', { user_ref: 'alice' })
      const position = await node.deps.store.logPosition()
      const { body } = await ask('revoke_user', { user_ref: 'alice' })
      const entries = first.body.entries.map((entry: object) => ({ ...entry, already_revoked: true }))
      expect(body).toEqual({ ...first.body, already_revoked: true, entries })
      expect(await node.deps.store.logPosition()).toBe(position)
    })

    it('of which one id was revoked before is not "already revoked", and has the highest seq', async () => {
      const { body: found } = await resolve({ user_ref: 'alice' })
      const [pairwise, derived] = found.users.map(({ ppid }: { ppid: string }) => ppid)
      const before = await ask('revoke_user', { ppid: derived })
      const { body } = await ask('revoke_user', { user_ref: 'alice' })
      expect(body.already_revoked).toBe(false)
      expect(body.entries).toEqual([
        { ppid: pairwise, seq: body.seq, already_revoked: false },
        { ppid: derived, seq: before.body.seq, already_revoked: true },
      ])
      expect(body.seq).toBeGreaterThan(before.body.seq)
    })

    it('A273: a row that says "already revoked" prevents neither of the two', async () => {
      const mine = await issue()
      const { revokeUsers } = node.deps.store
      let calls = 0
      // The first answer claims that both were revoked before, which the log does not say.
      node.deps.store.revokeUsers = async (user, context, unconfirmed) => {
        if (calls++ > 0) return revokeUsers(user, context, unconfirmed)
        const users = user.ppids.map((ppid) => ({
          ppid,
          credentialId: null,
          credentialIds: [],
          alreadyRevoked: true,
          revokedAtMs: 1,
          tokensRevoked: 0,
          epoch: node.deps.store.epoch,
          seq: 1,
        }))
        return { users, alreadyRevoked: true, position: 1 }
      }
      const { body } = await ask('revoke_user', { user_ref: 'alice' })
      expect(body).toMatchObject({ already_revoked: false })
      expect(calls).toBe(2)
      expect(await showCredential(mine)).toBe('credential_revoked')
    })

    it('is reinstated and signed out under both ids', async () => {
      await addIssuer(ISSUER, { user_ref_from_subject: true })
      const old = await issue()
      const out = await ask('sign_out_user', { user_ref: 'alice' })
      expect(out.body).toMatchObject({ kind: 'user.signed_out', target: old.ppid, already_revoked: false })
      expect(out.body.entries.at(-1).seq).toBe(out.body.seq)
      expect(out.body.entries).toHaveLength(2)
      node.clock.pass(1000)
      expect([await showCredential(old), await showCredential(await issue())]).toEqual([
        'credential_revoked',
        200,
      ])
      expect(await show(await signed(ISSUER, 'alice'))).toBe(200)
      await ask('revoke_user', { user_ref: 'alice' })
      const { body } = await ask('reinstate_user', { user_ref: 'alice' })
      expect(body).toMatchObject({ ppid: old.ppid, already_active: false })
      expect(body.entries.map((entry: { already_active: boolean }) => entry.already_active)).toEqual([
        false,
        false,
      ])
      node.clock.pass(1500)
      expect([await showCredential(await issue()), await show(await signed(ISSUER, 'alice'))]).toEqual([
        200, 200,
      ])
    })
  })

  describe('issuer and subject', () => {
    it('revoke the user of that issuer only', async () => {
      await addIssuer(ISSUER)
      await addIssuer(OTHER)
      const { body } = await ask('revoke_user', { issuer: ISSUER, subject: 'alice' })
      expect(body).toMatchObject({ credential_id: null, credential_ids: [], entries: [{ seq: body.seq }] })
      expect(await show(await signed(ISSUER, 'alice'))).toBe('token_invalid')
      expect(await show(await signed(OTHER, 'alice'))).toBe(200)
      expect(await show(await signed(ISSUER, 'alice2'))).toBe(200)
    })

    it('name the user_ref where the issuer uses it, also while the issuer is distrusted', async () => {
      const issuer = await addIssuer(ISSUER, { user_ref_from_subject: true })
      const to = (status: string) =>
        node.admin('change_issuer', { params: { site_id: A, issuer }, body: { status } })
      expect((await to('distrusted')).status).toBe(200)
      const mine = await issue()
      const { body } = await ask('revoke_user', { issuer: ISSUER, subject: 'alice' })
      expect(body.entries).toHaveLength(3)
      expect(await showCredential(mine)).toBe('credential_revoked')
      await to('trusted')
      expect(await show(await signed(ISSUER, 'alice'))).toBe('token_invalid')
    })

    it('work before the site trusts the issuer', async () => {
      await ask('revoke_user', { issuer: ISSUER, subject: 'alice' })
      await addIssuer(ISSUER)
      expect(await show(await signed(ISSUER, 'alice'))).toBe('token_invalid')
    })
  })

  describe('one token or session', () => {
    const revoke = (form: object, caller = keyOf(A)) =>
      node.ask('revoke_credential', { caller, body: { site_id: A, ...form } })

    it('is revoked by its jti, once and permanently', async () => {
      await addIssuer(ISSUER)
      const [one, two] = [
        await signed(ISSUER, 'alice', { jti: 't1' }),
        await signed(ISSUER, 'alice', { jti: 't2' }),
      ]
      const first = await revoke({ issuer: ISSUER, jti: 't1', reason: 'seen in a log' })
      expect(first.body).toMatchObject({
        credential_id: expect.stringMatching(/^cred_jt_/),
        revocation_type: 'credential',
        already_revoked: false,
      })
      expect([await show(one), await show(two)]).toEqual(['token_invalid', 200])
      const again = await revoke({ issuer: ISSUER, jti: 't1' })
      expect(again.body).toEqual({ ...first.body, already_revoked: true })
      expect((await revoke({ issuer: OTHER, jti: 't2' })).status).toBe(200)
      expect(await show(two)).toBe(200)
    })

    it('is revoked with its session', async () => {
      await addIssuer(ISSUER)
      const [one, two] = [
        await signed(ISSUER, 'alice', { sid: 's1' }),
        await signed(ISSUER, 'alice', { sid: 's2' }),
      ]
      const { body } = await revoke({ issuer: ISSUER, session: 's1' })
      expect(body.credential_id).toMatch(/^cred_js_/)
      expect([await show(one), await show(two)]).toEqual(['token_invalid', 200])
    })

    it.each([{ issuer: ISSUER }, { jti: 't1' }, { credential_id: 'cred_aaaaaaaa', issuer: ISSUER }])(
      '422 for %j',
      async (form) => {
        expect(await revoke(form)).toMatchObject({ status: 422, code: 'validation_failed' })
      },
    )
  })

  describe('POST …/users/resolve', () => {
    it('gives the ids with their state, and changes nothing', async () => {
      const mine = await issue()
      const position = await node.deps.store.logPosition()
      const { status, body } = await resolve({ user_ref: 'alice' })
      expect(status).toBe(200)
      expect(body.users).toEqual([
        { ppid: mine.ppid, status: 'active' },
        { ppid: expect.stringMatching(/^did:service:ppid_j_/), status: 'active' },
      ])
      expect(await node.deps.store.logPosition()).toBe(position)
      await ask('revoke_user', { ppid: mine.ppid })
      expect((await resolve({ user_ref: 'alice' })).body.users[0]).toEqual({
        ppid: mine.ppid,
        status: 'revoked',
        revoked_at: '2026-11-14T12:00:00Z',
      })
      await ask('reinstate_user', { ppid: mine.ppid })
      expect((await resolve({ ppid: mine.ppid })).body.users).toEqual([{ ppid: mine.ppid, status: 'active' }])
    })

    it('gives other ids at another site', async () => {
      const B = newSiteId()
      await node.admin('create_site', { body: { site_id: B } })
      const ids = async (site: SiteId) =>
        (await resolve({ user_ref: 'alice' }, keyOf(site), site)).body.users.map(
          ({ ppid }: { ppid: string }) => ppid,
        )
      const atB = new Set(await ids(B))
      expect((await ids(A)).some((id: string) => atB.has(id))).toBe(false)
    })

    it('reveals nothing without a permission, of another site, or of none', async () => {
      const form = { user_ref: 'alice' }
      const weak = {
        ...keyOf(A),
        permissions: ['tokens:introspect', 'feed:read', 'credentials:issue'],
      } as never
      expect(await resolve(form, weak)).toMatchObject({ status: 403, code: 'api_key_forbidden' })
      expect(await resolve(form, anonymous)).toMatchObject({ status: 401, code: 'api_key_missing' })
      const foreign = await resolve(form, keyOf(newSiteId()))
      const nowhere = await resolve(form, keyOf(A), NOWHERE)
      expect([foreign.status, nowhere.status]).toEqual([404, 404])
      expect(foreign.body.detail).toBe(nowhere.body.detail)
    })
  })

  it('A170: needs a key of the site, whatever the form', async () => {
    const position = await node.deps.store.logPosition()
    for (const form of [{ user_ref: 'alice' }, { issuer: ISSUER, subject: 'alice' }]) {
      for (const id of ['revoke_user', 'reinstate_user', 'sign_out_user'] as const) {
        expect((await ask(id, form, keyOf(newSiteId()))).code).toBe('revocation_forbidden')
        expect((await ask(id, form, anonymous)).code).toBe('api_key_missing')
      }
    }
    expect(await node.deps.store.logPosition()).toBe(position)
  })

  it('a credential revokes its user by ppid only', async () => {
    const mine = await issue()
    const fields = {
      'x-service-credential': Buffer.from(JSON.stringify(mine.credential)).toString('base64url'),
    }
    const self = (form: object) =>
      node.ask('revoke_user', { caller: anonymous, fields, body: { site_id: A, ...form } })
    expect((await self({ user_ref: 'alice' })).code).toBe('revocation_forbidden')
    expect((await self({ issuer: ISSUER, subject: 'alice' })).code).toBe('revocation_forbidden')
    expect((await self({ ppid: mine.ppid })).status).toBe(200)
  })

  it.each([{}, { ppid: 'did:service:ppid_aaaaaaaa', user_ref: 'a' }, { issuer: ISSUER }, { subject: 'a' }])(
    '422 for %j',
    async (form) => {
      for (const id of ['revoke_user', 'reinstate_user', 'sign_out_user'] as const)
        expect(await ask(id, form)).toMatchObject({ status: 422, code: 'validation_failed' })
      expect((await resolve(form)).status).toBe(422)
    },
  )

  it('another node denies too, and knows the same ids', async () => {
    await addIssuer(ISSUER, { user_ref_from_subject: true })
    const second = await openNode(node.deps.store, A, { clock: node.clock })
    const jwt = await signed(ISSUER, 'alice')
    expect((await second.bearer(jwt)).status).toBe(200)
    const { body } = await ask('revoke_user', { user_ref: 'alice' })
    await second.deps.views.waitForSeq(A, body)
    expect((await second.bearer(jwt)).code).toBe('token_invalid')
  })
})
