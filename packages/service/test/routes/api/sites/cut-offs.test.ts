import { credentialHeader, type JsonObject, toHolderThumbprint } from '@countersign/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, openNode } from '../../../node.ts'
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

  test('A226: an issuer that no store could have is rejected, also in previews and lists', async () => {
    for (const issuer of ['\u0000', 'did:web:a\u0000b', 'https://a.example\r\n', '']) {
      const params = { site_id: A }
      const acts = [
        { type: 'cut_off_issuer', issuer },
        { type: 'distrust_issuer', issuer },
        { type: 'change_issuer_key', issuer, key: 'key-1', status: 'retired' },
      ]
      const query = `status=active&issuer=${encodeURIComponent(issuer)}`
      const answers = [
        await node.admin('cut_off_issuer', { params, body: { issuer } }),
        await node.admin('list_credentials', { params, query }),
        ...(await Promise.all(acts.map((act) => node.admin('preview', { params, body: { act } })))),
      ]
      for (const { code } of answers) expect(code).toBe('validation_failed')
    }
  })

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

  test('delegation off has an audit row with its reason, and a receipt with Prefer: wait', async () => {
    const order = { params: { site_id: A }, body: { delegation: 'off', reason: 'breach' } }
    const { body, headers } = await node.admin('change_site', { ...order, preferWaitSeconds: 5 })
    expect(body.propagation).toMatchObject({ connected: 0, acknowledged: 0 })
    expect(headers['preference-applied']).toBe('wait=5')
    const { body: page } = await node.admin('list_audit', { params: { site_id: A } })
    expect(page.items[0]).toMatchObject({ action: 'site.change', reason: 'breach' })
    // Nothing is appended, so there is nothing to wait for.
    const again = await node.admin('change_site', { ...order, preferWaitSeconds: 5 })
    expect(again.body.propagation).toBeUndefined()
  })

  describe('every cut-off', () => {
    const THUMBPRINT = 'a'.repeat(43)
    const params = () => ({ site_id: A })
    const all = (reason?: string) =>
      [
        ['sign_out_user', 'user.sign_out', { body: { site_id: A, user_ref: 'user-1', reason } }],
        ['revoke_holder', 'holder.revoke', { params: params(), body: { thumbprint: THUMBPRINT, reason } }],
        ['cut_off_issuer', 'issuer.cut_off', { params: params(), body: { issuer: OWN, reason } }],
        ['cut_off_site', 'site.cut_off', { params: params(), body: { confirm: A, reason } }],
      ] as const

    test('leaves an audit row with its reason and entry', async () => {
      await issue()
      for (const [id, action, order] of all('breach')) {
        const { body } = await node.admin(id, order)
        const { body: page } = await node.admin('list_audit', { params: params() })
        expect(page.items).toContainEqual(
          expect.objectContaining({ action, reason: 'breach', seq: body.seq }),
        )
      }
      await node.admin('revoke_holder', {
        params: params(),
        body: { thumbprint: THUMBPRINT, reason: 'again' },
      })
      const { body: page } = await node.admin('list_audit', { params: params() })
      expect(page.items).toContainEqual(
        expect.objectContaining({ action: 'holder.revoke', reason: 'again', outcome: 'unchanged' }),
      )
    })

    test('says with Prefer: wait how far it has got', async () => {
      await issue()
      for (const [id, , order] of all()) {
        const { body, headers } = await node.admin(id, { ...order, preferWaitSeconds: 5 })
        expect(body.propagation).toMatchObject({ connected: 0, acknowledged: 0 })
        expect(headers['preference-applied']).toBe('wait=5')
      }
    })

    test('needs the permission, at its own site', async () => {
      await issue()
      const position = await node.deps.store.logPosition()
      const weak = {
        ...keyOf(A),
        permissions: ['credentials:issue', 'credentials:reinstate', 'tokens:revoke', 'feed:read'],
      } as never
      for (const [id, , order] of all()) {
        expect((await node.ask(id, { ...order, caller: weak })).code).toBe('api_key_forbidden')
        expect((await node.ask(id, order)).code).toBe('api_key_missing')
        const { status } = await node.ask(id, { ...order, caller: keyOf(newSiteId()) })
        expect([403, 404]).toContain(status)
      }
      const revoker = { ...keyOf(A), permissions: ['credentials:revoke'] } as never
      const panic = { params: params(), body: { confirm: A } }
      expect((await node.ask('cut_off_site', { ...panic, caller: revoker })).code).toBe('api_key_forbidden')
      expect(await node.deps.store.logPosition()).toBe(position)
      const order = { params: params(), body: { issuer: OWN } }
      expect((await node.ask('cut_off_issuer', { ...order, caller: revoker })).status).toBe(200)
    })

    test('is done once for a repeated Idempotency-Key', async () => {
      await issue()
      for (const [id, , order] of all()) {
        const fields = { 'idempotency-key': `${id}-${A}` }
        const first = await node.admin(id, { ...order, fields })
        const position = await node.deps.store.logPosition()
        const again = await node.admin(id, { ...order, fields })
        expect(again.body).toEqual(first.body)
        expect(await node.deps.store.logPosition()).toBe(position)
      }
    })

    test('is applied by another node', async () => {
      const before = await issue()
      const second = await openNode(node.deps.store, A, { clock: node.clock })
      const { body } = await node.admin('cut_off_site', { params: params(), body: { confirm: A } })
      await second.deps.views.waitForSeq(A, body)
      const { code } = await second.context(credentialHeader(before.credential))
      expect(code).toBe('credential_revoked')
    })
  })

  describe('the panic button', () => {
    const panic = () => node.admin('cut_off_site', { params: { site_id: A }, body: { confirm: A } })

    test('ends bearer tokens, which introspection and lists report too', async () => {
      const { credential } = await issue()
      const token = await node.tokenFor(credential)
      expect((await node.bearer(token)).status).toBe(200)
      await panic()
      expect((await node.bearer(token)).code).toBe('token_invalid')
      expect((await node.introspect(token)).body.active).toBe(false)
      const { body: tokens } = await node.admin('list_tokens', { params: { site_id: A } })
      expect(tokens.items.map(({ status: is }: { status: string }) => is)).toEqual(['revoked'])
      expect((await node.exchange(credential)).code).toBe('credential_revoked')
    })

    test('cancels offers that were not claimed, and so does a sign-out for its user', async () => {
      const offer = async (user_ref: string) => {
        const { body } = await node.admin('create_offer', { body: { site_id: A, user_ref, scope: ['a'] } })
        return body.offer_url.split('#offer=')[1]
      }
      const origin = { origin: 'https://service.example', 'sec-fetch-site': 'same-origin' }
      const read = async (code: string) =>
        (await node.ask('read_offer', { body: { offer: code }, fields: origin })).code ?? 200
      const [one, two] = [await offer('user-1'), await offer('user-2')]
      expect([await read(one), await read(two)]).toEqual([200, 200])
      await node.admin('sign_out_user', { body: { site_id: A, user_ref: 'user-1' } })
      expect([await read(one), await read(two)]).toEqual(['credential_revoked', 200])
      await panic()
      expect(await read(two)).toBe('credential_revoked')
      expect(await read(await offer('user-2'))).toBe(200)
    })

    test('ends a credential whose signature is ahead of the clock', async () => {
      // Issued right after a reinstatement, so it is signed in the next second.
      const { ppid } = await issue()
      await node.revokeUser(ppid)
      node.clock.pass(300)
      await node.reinstate(ppid)
      const ahead = await issue()
      await panic()
      await node.later(5000)
      expect(await show(ahead.credential)).toBe('credential_revoked')
    })

    test('does not end what is issued in the same second, after it', async () => {
      node.clock.pass(300)
      await panic()
      const after = await issue()
      expect(await show(after.credential)).toBe(200)
      await node.admin('sign_out_user', { body: { site_id: A, user_ref: 'user-1' } })
      expect(await show(after.credential)).toBe('credential_revoked')
    })
  })
})
