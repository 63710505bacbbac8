import { type JsonObject, toHolderThumbprint } from '@countersign/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf } from '../../../node.ts'
import { newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const OWN = 'did:web:service.example'

forEachSharedStore('cut-offs', (open) => {
  let A = newSiteId()
  let node: AdminNode
  beforeEach(async () => {
    A = newSiteId()
    node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
  })
  const issue = async (more: object = {}) => {
    const body = { site_id: A, user_ref: 'user-1', scope: ['orders:read'], ...more }
    const answer = await node.admin('issue_credential', { body })
    expect(answer.status).toBe(201)
    return answer.body
  }
  const show = async (credential: JsonObject) => {
    const { status, code } = await node.show(credential)
    return code ?? status
  }
  const status = async (credentialId: string) =>
    (await node.status(credentialId)).body.statuses[credentialId].status

  describe('POST /api/wallet/sign-out-user', () => {
    test('ends what was issued to the user, and nothing that is issued later', async () => {
      const before = await issue()
      const other = await issue({ user_ref: 'user-2' })
      const { ppid } = before
      const answer = await node.admin('sign_out_user', { body: { site_id: A, ppid, reason: 'lost phone' } })
      expect(answer).toMatchObject({
        status: 200,
        body: { success: true, kind: 'user.signed_out', target: ppid, already_revoked: false, seq: 3 },
      })
      expect(await show(before.credential)).toBe('credential_revoked')
      expect(await status(before.credential_id)).toBe('revoked')
      expect(await show(other.credential)).toBe(200)
      node.clock.pass(1000)
      expect(await show((await issue()).credential)).toBe(200)
      const { body: page } = await node.admin('list_audit', { params: { site_id: A } })
      expect(page.items).toContainEqual(
        expect.objectContaining({ action: 'user.sign_out', target: ppid, reason: 'lost phone' }),
      )
    })

    test('is for the keys of the site', async () => {
      const { ppid } = await issue()
      const body = { site_id: A, ppid }
      const foreign = await node.admin('sign_out_user', { body, caller: keyOf(newSiteId()) })
      expect(foreign).toMatchObject({ status: 403, code: 'revocation_forbidden' })
      const unknown = await node.admin('sign_out_user', { body: { ...body, site_id: newSiteId() } })
      expect(unknown.code).toBe('site_unknown')
    })
  })

  describe('POST /api/sites/{site_id}/revoke-holder', () => {
    test('revokes everything that is bound to the key, permanently and once', async () => {
      const { did } = await newParty()
      const bound = await issue({ holder_key: did })
      const other = await issue({ holder_key: (await newParty()).did })
      const order = { params: { site_id: A }, body: { holder_key: did } }
      const first = await node.admin('revoke_holder', order)
      const thumbprint = await toHolderThumbprint(did)
      expect(first).toMatchObject({ status: 200, body: { target: thumbprint, already_revoked: false } })
      expect(await status(bound.credential_id)).toBe('revoked')
      expect(await status(other.credential_id)).toBe('active')
      node.clock.pass(1000)
      expect(await status((await issue({ holder_key: did })).credential_id)).toBe('revoked')
      const again = await node.admin('revoke_holder', { params: { site_id: A }, body: { thumbprint } })
      expect(again.body).toMatchObject({ already_revoked: true, before: first.body.before })
    })

    test.each([
      [{}],
      [{ holder_key: 'did:key:zBad' }],
      [{ thumbprint: 'short' }],
      [{ thumbprint: 'a'.repeat(43), holder_key: 'did:key:zBad' }],
    ])('rejects %j', async (body) => {
      const answer = await node.admin('revoke_holder', { params: { site_id: A }, body })
      expect(answer.status).toBe(422)
    })
  })

  describe('POST /api/sites/{site_id}/cut-off-issuer', () => {
    test('ends what the issuer has signed, and survives that it is trusted again', async () => {
      const before = await issue()
      const cut = await node.admin('cut_off_issuer', { params: { site_id: A }, body: { issuer: OWN } })
      expect(cut).toMatchObject({ status: 200, body: { kind: 'issuer.cut_off', target: OWN } })
      expect(await show(before.credential)).toBe('credential_revoked')
      for (const to of ['distrusted', 'trusted'])
        await node.admin('change_issuer', { params: { site_id: A, issuer: OWN }, body: { status: to } })
      expect(await show(before.credential)).toBe('credential_revoked')
      node.clock.pass(1000)
      expect(await show((await issue()).credential)).toBe(200)
    })

    test('rejects an issuer that the site does not have', async () => {
      const cut = await node.admin('cut_off_issuer', {
        params: { site_id: A },
        body: { issuer: 'did:web:else.example' },
      })
      expect(cut.code).toBe('validation_failed')
    })
  })

  describe('POST /api/sites/{site_id}/cut-off', () => {
    test('ends everything that was issued for the site', async () => {
      const [one, two] = [await issue(), await issue({ user_ref: 'user-2' })]
      const cut = await node.admin('cut_off_site', { params: { site_id: A }, body: { confirm: A } })
      expect(cut).toMatchObject({ status: 200, body: { kind: 'site.cut_off', target: A } })
      for (const { credential } of [one, two]) expect(await show(credential)).toBe('credential_revoked')
      node.clock.pass(1000)
      expect(await show((await issue()).credential)).toBe(200)
    })

    test('needs the name of the site again', async () => {
      const { credential } = await issue()
      const cut = await node.admin('cut_off_site', { params: { site_id: A }, body: { confirm: newSiteId() } })
      expect(cut.code).toBe('validation_failed')
      expect(await show(credential)).toBe(200)
    })
  })

  test('delegation off rejects delegated credentials only', async () => {
    const { credential } = await issue()
    await node.admin('change_site', { params: { site_id: A }, body: { delegation: 'off' } })
    expect(await show(credential)).toBe(200)
    const { body } = await node.admin('read_site', { params: { site_id: A } })
    expect(body.delegation).toBe('off')
  })
})
