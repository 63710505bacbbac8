import { describe, expect, it } from 'vitest'
import { openHosted, openSecond, RETURN_URL } from '../../hosted.ts'
import { withoutHandOver } from '../../log/without-hand-over.ts'
import { delegated, NOW, newParty } from '../../party.ts'
import { forEachSharedStore } from '../../stores.ts'

const ACT = { actor: 'operator', atMs: NOW, requestId: undefined }

forEachSharedStore('/auth/sdk-callback', (open) => {
  describe('303', () => {
    it('A166: leads back with a code, the integration’s own state, and who says so', async () => {
      const { signedIn, issued, baseUrl } = await openHosted(open())
      const { back, code } = await signedIn((await issued()).document)
      expect(back.to.origin + back.to.pathname).toBe(RETURN_URL)
      expect(Object.fromEntries(back.to.searchParams)).toEqual({ code, state: 'cs-1', iss: baseUrl })
      expect(code).toMatch(/^[A-Za-z0-9_-]{43}$/)
    })

    it('A168: is not framed, not cached, sends no referrer, and takes the cookie back', async () => {
      const { signedIn, issued } = await openHosted(open())
      const { back, browser } = await signedIn((await issued()).document)
      expect(back.headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(back.headers).toMatchObject({
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
      })
      expect(back.headers['set-cookie']).toMatch(/^__Host-countersign-\w+=; Path=\/; Max-Age=0; /)
      expect(browser.jar.size).toBe(0)
    })

    it('keeps the registered URL byte for byte, whatever its query looks like, and leaves the state out when there was none', async () => {
      const url = 'https://shop.example/cb?a=b%20c&d=%e2%82%ac&e'
      const { signedIn, issued, baseUrl } = await openHosted(open(), { returnUrls: [url] })
      const { back, code } = await signedIn((await issued()).document, {
        return_url: url,
        client_state: undefined,
      })
      expect(back.headers.location).toBe(`${url}&code=${code}&iss=${encodeURIComponent(baseUrl)}`)
    })

    it('does the same for a posted form', async () => {
      const { presented, issued, redeem } = await openHosted(open())
      const { browser, state, payload } = await presented((await issued()).document)
      const back = await browser.post('/auth/sdk-callback', { form: { state, payload } })
      expect(back.status).toBe(303)
      expect((await redeem(back.to.searchParams.get('code') ?? '')).status).toBe(200)
    })

    it('leads back with access_denied when the user cancels, by link or by form, and then the sign-in is over', async () => {
      const { opened, issued, baseUrl } = await openHosted(open())
      const { document } = await issued()
      for (const how of ['link', 'form']) {
        const { browser, state } = await opened()
        const { cookie } = browser
        const form = { state, error: 'access_denied' }
        const back =
          how === 'link'
            ? await browser.get(`/auth/sdk-callback?${new URLSearchParams(form)}`)
            : await browser.post('/auth/sdk-callback', { form })
        expect(back.status).toBe(303)
        expect(Object.fromEntries(back.to.searchParams)).toEqual({
          error: 'access_denied',
          error_description: 'The user cancelled the sign-in.',
          state: 'cs-1',
          iss: baseUrl,
        })
        expect((await browser.present(state, document, { headers: { cookie } })).json.code).toBe(
          'state_invalid',
        )
      }
    })

    it('can be cancelled after a presentation too', async () => {
      const { presented, issued } = await openHosted(open())
      const { browser, state, callbackUrl } = await presented((await issued()).document)
      const { cookie } = browser
      expect(
        (await browser.get(`/auth/sdk-callback?state=${state}&error=access_denied`)).to.searchParams.get(
          'error',
        ),
      ).toBe('access_denied')
      expect((await browser.get(callbackUrl, { cookie })).status).toBe(400)
    })

    it('leads back with an error, and no code, for a user who lost access since presenting', async () => {
      const { presented, opened, issued, node, store, A, issuer } = await openHosted(open())
      const [one, two] = [await newParty(), await newParty()]
      const losses: [string, (made: Awaited<ReturnType<typeof issued>>) => Promise<unknown>][] = [
        ['credential_revoked', ({ ppid }) => node.revokeUser(ppid)],
        ['credential_revoked', ({ id }) => node.revokeCredential(id)],
        // A user who is accepted again needs a new credential, and a new sign-in.
        ['credential_revoked', async ({ ppid }) => [await node.revokeUser(ppid), await node.reinstate(ppid)]],
      ]
      for (const [error, lose] of losses) {
        const made = await issued()
        const { browser, callbackUrl } = await presented(made.document)
        await lose(made)
        const { status, to } = await browser.get(callbackUrl)
        expect([status, to.searchParams.get('error'), to.searchParams.get('code')]).toEqual([
          303,
          error,
          null,
        ])
        expect(to.searchParams.get('error_description')).toMatch(/revoked/)
      }
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two)
      const flow = await opened()
      const shown = await flow.browser.present(flow.state, child.document, { holder: two })
      await node.revokeCredential(root.id)
      expect((await flow.browser.get(shown.json.callback_url)).to.searchParams.get('error')).toBe(
        'credential_revoked',
      )

      const untrusted = await presented((await issued()).document)
      const changed = await store.changeIssuer(A, issuer.did, { status: 'distrusted' }, ACT)
      await node.deps.views.waitFor(changed?.position ?? 0)
      expect((await untrusted.browser.get(untrusted.callbackUrl)).to.searchParams.get('error')).toBe(
        'issuer_untrusted',
      )
    })

    it('leads back with credential_expired when the credential has ended in the meantime', async () => {
      const { presented, issued, node } = await openHosted(open())
      const { browser, callbackUrl } = await presented(
        (await issued({ validUntilMs: NOW + 30_000 })).document,
      )
      await node.later(30_000)
      expect((await browser.get(callbackUrl)).to.searchParams.get('error')).toBe('credential_expired')
    })
  })

  describe('400', () => {
    it('A160, A161: state_invalid for all that is unknown, used, ended or another browser’s, and no redirect', async () => {
      const { presented, signedIn, issued, browser, node } = await openHosted(open())
      const { document } = await issued({ validUntilMs: NOW + 86_400_000 })
      const done = await signedIn(document)
      const fresh = await presented(document)
      const { payload, state } = fresh
      const otherBrowser = browser()
      const other = await presented(document)
      const json = { accept: 'application/json' }
      const refusals = [
        await fresh.browser.get(`/auth/sdk-callback?state=${'A'.repeat(43)}&payload=${payload}`, json),
        await fresh.browser.get(`/auth/sdk-callback?state=${state.slice(0, -1)}&payload=${payload}`, json),
        await done.browser.get(done.callbackUrl, json),
        await otherBrowser.get(fresh.callbackUrl, json),
        await other.browser.get(fresh.callbackUrl, json),
        await otherBrowser.get(`/auth/sdk-callback?state=${state}&error=access_denied`, json),
      ]
      for (const { status, json, headers } of refusals) {
        expect([status, json.code, headers.location, headers['set-cookie']]).toEqual([
          400,
          'state_invalid',
          undefined,
          undefined,
        ])
      }
      // None of them has used it up.
      expect((await fresh.browser.get(fresh.callbackUrl)).status).toBe(303)
      await node.later(600_000)
      expect((await other.browser.get(other.callbackUrl)).status).toBe(400)
    })

    it('callback_invalid for a payload that is none, of another sign-in, or older than a minute; the state is used up all the same', async () => {
      const { presented, opened, issued, node } = await openHosted(open())
      const { document } = await issued()
      const other = await presented(document)
      const payloads: [
        string,
        () => Promise<{ browser: typeof other.browser; state: string; payload?: string }>,
      ][] = [
        ['A'.repeat(43), () => opened()],
        [other.payload, () => presented(document)],
        ['x', () => presented(document)],
      ]
      for (const [payload, begin] of payloads) {
        const { browser, state } = await begin()
        const { cookie } = browser
        const get = () =>
          browser.get(`/auth/sdk-callback?state=${state}&payload=${payload}`, {
            accept: 'application/json',
            cookie,
          })
        expect((await get()).json.code).toBe('callback_invalid')
        expect((await get()).json.code).toBe('state_invalid')
      }
      const late = await presented(document)
      await node.later(60_000)
      expect((await late.browser.get(late.callbackUrl, { accept: 'application/json' })).json.code).toBe(
        'callback_invalid',
      )
    })

    it('redirect_not_allowed, and no redirect, once the site has taken the return URL off its list', async () => {
      const { presented, issued, store, A } = await openHosted(open())
      const { browser, callbackUrl } = await presented((await issued()).document)
      await store.changeSite(A, { returnUrls: [] }, ACT)
      const { json, headers } = await browser.get(callbackUrl, { accept: 'application/json' })
      expect([json.code, headers.location]).toEqual(['redirect_not_allowed', undefined])
    })

    it('shows a browser a page that is not framed', async () => {
      const { browser } = await openHosted(open())
      const { status, text, headers } = await browser().get(
        `/auth/sdk-callback?state=${'A'.repeat(43)}&payload=y`,
      )
      expect([status, text.startsWith('<!doctype html>')]).toEqual([400, true])
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    })
  })

  it('422 for neither payload nor error, and for both', async () => {
    const { browser } = await openHosted(open())
    const state = 'A'.repeat(43)
    for (const query of [
      `state=${state}`,
      `state=${state}&payload=x&error=access_denied`,
      `state=${state}&error=other`,
    ]) {
      expect((await browser().get(`/auth/sdk-callback?${query}`, { accept: '*/*' })).json.code).toBe(
        'validation_failed',
      )
    }
  })

  it('503 before the state is used up when this node has not heard of its store for too long', async () => {
    const { presented, issued, node } = await openHosted(open())
    const { browser, callbackUrl } = await presented((await issued()).document)
    const { views } = node.deps
    const readiness = views.readiness.bind(views)
    views.readiness = () => ({ ready: false, why: 'stale' })
    const { status, json } = await browser.get(callbackUrl, { accept: 'application/json' })
    expect([status, json.code]).toEqual([503, 'revocation_view_stale'])
    views.readiness = readiness
    expect((await browser.get(callbackUrl)).status).toBe(303)
  })

  it('goes on at another node, at every step, and not after a revocation there', async () => {
    withoutHandOver()
    const hosted = await openHosted(open())
    const { opened, issued, redeem, verifier } = hosted
    const second = await openSecond(hosted)
    const { document } = await issued()
    const { browser, state } = await opened()
    const own = { origin: hosted.baseUrl, 'sec-fetch-site': 'same-origin', cookie: browser.cookie }
    const shown = await second.send('POST', '/auth/present', {
      json: { state, credential: document },
      headers: own,
    })
    const back = await browser.get(shown.json.callback_url)
    const code = back.to.searchParams.get('code') ?? ''
    expect(
      (await second.send('POST', '/auth/sdk-result', { json: { code, code_verifier: verifier } })).status,
    ).toBe(200)
    expect((await redeem(code)).json.code).toBe('code_invalid')

    // The first node has not heard of the revocation by the log: the store tells it.
    const other = await issued()
    const flow = await hosted.presented(other.document)
    const { entriesAfter } = hosted.store
    const late = Promise.withResolvers<void>()
    hosted.store.entriesAfter = (...args) => late.promise.then(() => entriesAfter.apply(hosted.store, args))
    await hosted.store.revokeUser({ siteId: hosted.A, ppid: other.ppid as never, reason: undefined }, ACT)
    expect((await flow.browser.get(flow.callbackUrl)).to.searchParams.get('error')).toBe('credential_revoked')
    expect(hosted.node.deps.views.view(hosted.A)?.userRevocation(other.ppid as never, NOW)).toBeUndefined()
    late.resolve()
  })

  it('A162: exactly one of many at once comes back with a code', { tags: 'long' }, async () => {
    const { presented, issued, redeem } = await openHosted(open())
    const { browser, callbackUrl } = await presented((await issued()).document)
    const { cookie } = browser
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => browser.get(callbackUrl, { cookie, accept: 'application/json' })),
    )
    const won = answers.filter(({ status }) => status === 303)
    expect(won).toHaveLength(1)
    for (const { status, json } of answers) if (status !== 303) expect(json.code).toBe('state_invalid')
    const code = won[0]?.to.searchParams.get('code') ?? ''
    const results = await Promise.all(Array.from({ length: 100 }, () => redeem(code)))
    expect(results.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})
