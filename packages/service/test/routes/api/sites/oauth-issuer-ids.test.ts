import { beforeAll, describe, expect, it } from 'vitest'
import {
  ISSUER,
  newOAuthKey,
  type OAuthKey,
  type OAuthSite,
  openOAuthSite,
  signToken,
} from '../../../oauth.ts'
import { forEachSharedStore } from '../../../stores.ts'

let key: OAuthKey
beforeAll(async () => {
  key = await newOAuthKey()
})

forEachSharedStore('a change of an OAuth issuer that gives users or sessions other ids', (open) => {
  const begin = (members: object) => openOAuthSite(open(), [key], members)
  const change = ({ ask, A, issuerId }: OAuthSite, body: object) =>
    ask('change_issuer', { params: { site_id: A, issuer: issuerId }, body })
  const show = async ({ bearer }: OAuthSite) =>
    (await bearer(await signToken(key, { claims: { oid: 'alice-oid', sid: 's1', sid2: 's1-too' } }))).code ??
    'allowed'
  const revoke = ({ ask, A }: OAuthSite, by: object) =>
    ask('session' in by ? 'revoke_credential' : 'revoke_user', { body: { site_id: A, ...by } })

  const subject = { issuer: ISSUER, subject: 'alice' }
  const session = { issuer: ISSUER, session: 's1' }
  const cases: [string, before: object, change: object, revoked: object][] = [
    ['subject_claim', {}, { subject_claim: 'oid' }, subject],
    ['user_ref_from_subject', {}, { user_ref_from_subject: true }, subject],
    [
      'user_ref_from_subject',
      { user_ref_from_subject: true },
      { user_ref_from_subject: false },
      { user_ref: 'alice' },
    ],
    ['session_claim', { session_claim: 'sid' }, { session_claim: 'sid2' }, session],
    ['session_claim', { session_claim: 'sid' }, { session_claim: null }, session],
  ]

  describe.each(cases)('%s, from %j to %j, after the revocation of %j', (member, before, after, revoked) => {
    it('is 422 without a confirmation, and changes nothing', async () => {
      const site = await begin(before)
      expect(await show(site)).toBe('allowed')
      expect((await revoke(site, revoked)).status).toBe(200)
      const position = await site.node.deps.store.logPosition()
      const { status, code, body } = await change(site, { ...after, label: 'other' })
      expect([status, code]).toEqual([422, 'validation_failed'])
      expect(body.detail).toContain('confirm_new_ids')
      expect(body.errors).toEqual([{ path: member, message: 'needs confirm_new_ids: true' }])
      expect(await site.node.deps.store.logPosition()).toBe(position)
      expect((await site.node.deps.store.issuer(site.A, ISSUER))?.label).toBeUndefined()
      expect(await show(site)).toBe('token_invalid')
    })

    it('control: with a confirmation, what was revoked has access again', async () => {
      const site = await begin(before)
      await revoke(site, revoked)
      expect(await show(site)).toBe('token_invalid')
      expect(await change(site, { ...after, confirm_new_ids: true })).toMatchObject({
        status: 200,
        body: after,
      })
      expect(await show(site)).toBe('allowed')
    })
  })

  it('names every member that needs the confirmation', async () => {
    const site = await begin({ session_claim: 'sid' })
    const { body } = await change(site, {
      subject_claim: 'oid',
      session_claim: null,
      user_ref_from_subject: true,
      scope_claim: 'scp',
    })
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual([
      'subject_claim',
      'user_ref_from_subject',
      'session_claim',
    ])
  })

  it('needs no confirmation for equal values and for a first session_claim, which change no id', async () => {
    const site = await begin({})
    await revoke(site, subject)
    const same = { subject_claim: 'sub', user_ref_from_subject: false, session_claim: null }
    expect((await change(site, same)).status).toBe(200)
    expect((await change(site, { session_claim: 'sid' })).status).toBe(200)
    expect((await change(site, { session_claim: 'sid', scope_claim: 'scp' })).status).toBe(200)
    expect(await show(site)).toBe('token_invalid')
  })

  it('a confirmation alone changes nothing, and only true is one', async () => {
    const site = await begin({})
    const position = await site.node.deps.store.logPosition()
    expect((await change(site, { confirm_new_ids: true })).status).toBe(200)
    for (const confirm_new_ids of [false, 'true', 1, null])
      expect((await change(site, { subject_claim: 'oid', confirm_new_ids })).code).toBe('validation_failed')
    expect(await site.node.deps.store.logPosition()).toBe(position)
  })

  it('needs a confirmation each time', async () => {
    const site = await begin({})
    expect((await change(site, { subject_claim: 'oid', confirm_new_ids: true })).status).toBe(200)
    expect((await change(site, { subject_claim: 'sub' })).code).toBe('validation_failed')
  })

  it.each([
    [{ subject_claim: 'oid' }, { issuer: ISSUER, subject: 'alice-oid' }],
    [{ user_ref_from_subject: true }, subject],
  ])(
    'leaves no gap if the issuer is distrusted until the users are revoked again: %j',
    async (after, again) => {
      const site = await begin({})
      await revoke(site, subject)
      const steps = [
        () => change(site, { status: 'distrusted' }),
        () => change(site, { ...after, confirm_new_ids: true }),
        () => revoke(site, again),
        () => change(site, { status: 'trusted' }),
      ]
      for (const step of steps) {
        expect((await step()).status).toBe(200)
        expect(await show(site)).toBe('token_invalid')
      }
      const bob = await signToken(key, { claims: { sub: 'bob', oid: 'bob-oid' } })
      expect((await site.bearer(bob)).status).toBe(200)
    },
  )
})
