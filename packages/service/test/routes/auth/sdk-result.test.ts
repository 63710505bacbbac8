import { randomBytes } from 'node:crypto'
import { formatTime } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { openHosted } from '../../hosted.ts'
import { NOW } from '../../party.ts'
import { forEachSharedStore } from '../../stores.ts'

forEachSharedStore('POST /auth/sdk-result', (open) => {
  describe('200', () => {
    it('says who has signed in, once', async () => {
      const { signedIn, issued, redeem, A } = await openHosted(open())
      const { document, id, ppid } = await issued()
      const { code } = await signedIn(document)
      const { status, json } = await redeem(code)
      expect([status, json]).toEqual([
        200,
        {
          ppid,
          site_id: A,
          scope: ['orders:read'],
          permission_id: 'perm_orders',
          credential_id: id,
          verified_at: formatTime(NOW),
          expires_at: formatTime(NOW + 3_600_000),
          issuer: expect.stringMatching(/^did:/),
          oldest_created_at: expect.stringMatching(/Z$/),
          credential_chain: [id],
          holder_thumbprints: [],
        },
      ])
      expect((await redeem(code)).json.code).toBe('code_invalid')
    })

    it('tells the site no more scope than it asked for, and all when it asked for none', async () => {
      const { signedIn, issued, redeem } = await openHosted(open())
      const { document } = await issued()
      expect((await redeem((await signedIn(document)).code)).json.scope).toEqual(['orders:read'])
      expect(
        (await redeem((await signedIn(document, { requested_scope: undefined })).code)).json.scope,
      ).toEqual(['orders:read', 'orders:write'])
    })

    it('is not spoilt by an attacker who has seen the code and tries it without the verifier', async () => {
      const { signedIn, issued, redeem } = await openHosted(open())
      const { code } = await signedIn((await issued()).document)
      expect((await redeem(code, randomBytes(32).toString('base64url'))).json.code).toBe('code_invalid')
      expect((await redeem(code)).status).toBe(200)
    })
  })

  describe('503 store_unavailable', () => {
    it('I-3, A274: on a node that does not trust its log, and the code can be used on another one', async () => {
      const { signedIn, issued, redeem, node } = await openHosted(open())
      const { code } = await signedIn((await issued()).document)
      const { views } = node.deps
      const { readiness } = views
      views.readiness = () => ({ ready: false, why: 'a signed head proves that entries are missing' })
      const { status, json } = await redeem(code)
      expect([status, json.code]).toEqual([503, 'store_unavailable'])
      views.readiness = readiness
      expect((await redeem(code)).status).toBe(200)
    })

    it('I-3: when the node stops trusting its log while the code is used up, which can then be used once', async () => {
      const { signedIn, issued, redeem, node } = await openHosted(open())
      const { code } = await signedIn((await issued()).document)
      const { store, views } = node.deps
      const { redeemSignIn } = store
      const { readiness } = views
      store.redeemSignIn = async (...args) => {
        const redeemed = await redeemSignIn(...args)
        views.readiness = () => ({ ready: false, why: 'a signed head proves that entries are missing' })
        return redeemed
      }
      const { status, json } = await redeem(code)
      expect([status, json.code]).toEqual([503, 'store_unavailable'])
      store.redeemSignIn = redeemSignIn
      views.readiness = readiness
      const statuses = await Promise.all([redeem(code), redeem(code), redeem(code)])
      expect(statuses.map((answer) => answer.status).sort()).toEqual([200, 400, 400])
    })

    it('I-13: a code that was used up before stays so', async () => {
      const { signedIn, issued, redeem, node } = await openHosted(open())
      const { code } = await signedIn((await issued()).document)
      expect((await redeem(code)).status).toBe(200)
      const { views } = node.deps
      const { readiness } = views
      let asked = 0
      views.readiness = () => (++asked === 1 ? { ready: true } : { ready: false, why: 'entries are missing' })
      expect((await redeem(code)).json.code).toBe('code_invalid')
      views.readiness = readiness
      expect((await redeem(code)).json.code).toBe('code_invalid')
    })
  })

  describe('400 code_invalid', () => {
    it('for a code that is unknown or no code, and for a state or payload in its place', async () => {
      const { signedIn, presented, issued, redeem } = await openHosted(open())
      const { document } = await issued()
      const { state, payload } = await signedIn(document)
      const pending = await presented(document)
      for (const code of ['A'.repeat(43), 'x', '', state, payload, pending.payload])
        expect((await redeem(code)).json.code).toBe('code_invalid')
    })

    it('for a verifier of another sign-in, or one that is none (RFC 7636)', async () => {
      const { signedIn, issued, redeem, verifier, pkce } = await openHosted(open())
      const { code } = await signedIn((await issued()).document)
      for (const wrong of [
        pkce.code_challenge,
        `${verifier}A`,
        verifier.slice(0, 42),
        verifier.toLowerCase(),
        'x',
        '',
      ]) {
        expect((await redeem(code, wrong)).json.code, wrong).toBe('code_invalid')
      }
    })

    it('after a minute', async () => {
      const { signedIn, issued, redeem, node } = await openHosted(open())
      const { document } = await issued()
      const [one, two] = [await signedIn(document), await signedIn(document)]
      await node.later(59_999)
      expect((await redeem(one.code)).status).toBe(200)
      await node.later(1)
      expect((await redeem(two.code)).json.code).toBe('code_invalid')
    })

    it('A155: the code of a return URL that the site has removed since', async () => {
      const { signedIn, issued, redeem, store, A } = await openHosted(open())
      const [one, two] = [
        await signedIn((await issued()).document),
        await signedIn((await issued()).document),
      ]
      expect((await redeem(one.code)).status).toBe(200)
      const context = { actor: 'operator', atMs: NOW, requestId: undefined }
      await store.changeSite(A, { returnUrls: ['https://shop.example/new'] }, context)
      expect((await redeem(two.code)).json.code).toBe('code_invalid')
    })

    it('for a user or credential that was revoked since, also when the user was reinstated', async () => {
      const { signedIn, issued, redeem, node } = await openHosted(open())
      const [one, two, three] = [await issued(), await issued(), await issued()]
      const codes = [
        (await signedIn(one.document)).code,
        (await signedIn(two.document)).code,
        (await signedIn(three.document)).code,
      ]
      await node.revokeUser(one.ppid)
      await node.revokeCredential(two.id)
      await node.revokeUser(three.ppid)
      await node.reinstate(three.ppid)
      for (const code of codes) expect((await redeem(code)).json.code).toBe('code_invalid')
    })
  })

  it('422 for members that are missing or unknown, 415 for a form', async () => {
    const { send } = await openHosted(open())
    expect((await send('POST', '/auth/sdk-result', { json: { code: 'A'.repeat(43) } })).status).toBe(422)
    expect(
      (
        await send('POST', '/auth/sdk-result', {
          json: { code: 'A'.repeat(43), code_verifier: 'x'.repeat(43), more: 1 },
        })
      ).status,
    ).toBe(422)
    expect((await send('POST', '/auth/sdk-result', { form: { code: 'x' } })).status).toBe(415)
  })

  it('I-1: against a revocation, at whatever moment: no result after it is acknowledged', {
    tags: 'long',
  }, async () => {
    const { signedIn, issued, redeem, node } = await openHosted(open())
    const outcomes = new Set<string>()
    for (let round = 0; round < 20; round++) {
      const { document, ppid } = await issued()
      const { code } = await signedIn(document)
      let isAcknowledged = false
      const revoked = node.revokeUser(ppid).then(({ status }) => {
        isAcknowledged = true
        return status
      })
      for (let i = 0; i < round % 4; i++) await new Promise(setImmediate)
      const wasAcknowledged = isAcknowledged
      const { status } = await redeem(code)
      outcomes.add(String(status))
      if (wasAcknowledged) expect(status).toBe(400)
      expect(await revoked).toBe(200)
      expect((await redeem(code)).status).toBe(400)
    }
    expect(outcomes.size).toBeGreaterThan(0)
  })
})
