import { readCredentialBody } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import type { RouteRequest } from '../../../src/route.ts'
import { present } from '../../../src/routes/auth/present.ts'
import { hiddenField, openHosted, RETURN_URL } from '../../hosted.ts'
import { anonymous } from '../../node.ts'
import { delegated, NOW, newParty } from '../../party.ts'
import { forEachSharedStore } from '../../stores.ts'

forEachSharedStore('POST /auth/present', (open) => {
  describe('200', () => {
    it('gives the way back, with a payload and without the credential', async () => {
      const { presented, issued, baseUrl } = await openHosted(open())
      const { document, ppid } = await issued()
      const { callbackUrl, state, payload, shown } = await presented(document)
      expect(callbackUrl).toBe(`${baseUrl}/auth/sdk-callback?state=${state}&payload=${payload}`)
      expect(payload).toMatch(/^[A-Za-z0-9_-]{43}$/)
      expect(shown.text).not.toContain(ppid)
    })

    it('makes the credential known at once', async () => {
      const { presented, issued, node } = await openHosted(open())
      const { document, id } = await issued()
      expect((await node.status(id)).body.statuses[id].status).toBe('unknown')
      await presented(document)
      expect((await node.status(id)).body.statuses[id].status).toBe('active')
    })

    it('takes a bound credential with a signature of this very request, and a delegated one', async () => {
      const { opened, issued } = await openHosted(open())
      const [one, two] = [await newParty(), await newParty()]
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two)
      const flow = await opened()
      expect((await flow.browser.present(flow.state, root.document, { holder: one })).status).toBe(200)
      expect((await flow.browser.present(flow.state, child.document, { holder: two })).status).toBe(200)
    })

    it('takes any scope that the credential has when the site asked for none', async () => {
      const { presented, issued } = await openHosted(open())
      const { document } = await issued({ scope: ['house:enter'] })
      expect((await presented(document, { requested_scope: undefined })).shown.status).toBe(200)
    })
  })

  it('303 for a form, whose origin is null because the page sends no referrer', async () => {
    const { opened, issued, baseUrl } = await openHosted(open())
    const { document, header } = await issued()
    for (const text of [
      JSON.stringify(document, undefined, 2),
      header,
      `\n ${header.replaceAll(/.{64}/g, '$&\r\n')} \n`,
    ]) {
      const { browser, state, page } = await opened()
      const { status, to } = await browser.presentForm(state, text, hiddenField(page, 'csrf_token'))
      expect([status, to.origin + to.pathname]).toEqual([303, `${baseUrl}/auth/sdk-callback`])
      expect((await browser.get(to.href)).to.searchParams.get('code')).toMatch(/^[\w-]{43}$/)
    }
  })

  describe('400', () => {
    it('A160: state_invalid without the cookie, with another sign-in’s, with two, and for an unknown state', async () => {
      const { opened, issued, send, request } = await openHosted(open())
      const { document } = await issued()
      const one = await opened()
      const two = await opened()
      const own = { origin: 'https://service.example', 'sec-fetch-site': 'same-origin' }
      const cookies = [
        undefined,
        two.browser.cookie,
        `${one.browser.cookie}; ${one.browser.cookie}`,
        one.browser.cookie?.replace(/=.*/, '=nonsense'),
      ]
      for (const cookie of cookies) {
        const { json } = await send('POST', '/auth/present', {
          json: { state: one.state, credential: document },
          headers: { ...own, cookie },
        })
        expect(json.code, cookie).toBe('state_invalid')
      }
      for (const state of ['A'.repeat(43), 'short', request.client_state]) {
        expect((await one.browser.present(state, document)).json.code).toBe('state_invalid')
      }
      expect((await one.browser.present(one.state, document)).status).toBe(200)
    })

    it('A161: state_invalid once the state is used, and once it has ended', async () => {
      const { signedIn, opened, issued, clock } = await openHosted(open())
      const { document } = await issued()
      const used = await signedIn(document)
      used.browser.jar.set('x', 'y')
      expect((await used.browser.present(used.state, document)).json.code).toBe('state_invalid')
      const late = await opened()
      clock.wallMs = NOW + 600_000
      expect((await late.browser.present(late.state, document)).json.code).toBe('state_invalid')
    })

    it('blames the credential for faults in it, and the request for others', async () => {
      const { opened, send } = await openHosted(open())
      const { browser, state } = await opened()
      const headers = {
        cookie: browser.cookie,
        origin: 'https://service.example',
        'content-type': 'application/json',
      }
      for (const credential of ['text', 1, null, [], {}]) {
        expect((await browser.present(state, credential)).json.code, JSON.stringify(credential)).toBe(
          'credential_malformed',
        )
      }
      expect((await send('POST', '/auth/present', { json: {}, headers })).json.code).toBe('validation_failed')
    })
  })

  it('401 and 403: refuses what any presentation is refused for, and does not use the state up', async () => {
    const { opened, issued, node, B } = await openHosted(open())
    const holder = await newParty()
    const untrusted = await newParty()
    const { document: good, ...revoked } = await issued()
    const { document: bound } = await issued({ holderKey: holder.did })
    await node.revokeCredential(revoked.id)
    const { browser, state } = await opened()
    const tries: [unknown, string, Parameters<typeof browser.present>[2]?][] = [
      [(await issued({ siteId: B })).document, 'site_mismatch'],
      [(await issued({ validFromMs: NOW - 5000, validUntilMs: NOW })).document, 'credential_expired'],
      [(await issued({ scope: ['orders:write'] })).document, 'scope_insufficient'],
      [(await issued({}, untrusted)).document, 'issuer_untrusted'],
      [{ ...good, validUntil: '2030-01-01T00:00:00Z' }, 'credential_signature_invalid'],
      [good, 'credential_revoked'],
      [bound, 'proof_required'],
      [bound, 'proof_invalid', { holder: untrusted }],
    ]
    for (const [credential, code, more] of tries)
      expect((await browser.present(state, credential, more)).json.code).toBe(code)
    expect((await browser.present(state, bound, { holder })).status).toBe(200)
  })

  it('a proof works once, and only for the request it was made for', async () => {
    const { opened, issued } = await openHosted(open())
    const holder = await newParty()
    const { document } = await issued({ holderKey: holder.did })
    const one = await opened()
    const two = await opened()
    const headers = await one.browser.proof(
      '/auth/present',
      { state: one.state, credential: document },
      holder,
    )
    expect((await two.browser.present(two.state, document, { headers })).json.code).toBe('proof_invalid')
    expect((await one.browser.present(one.state, document, { headers })).status).toBe(200)
    expect((await one.browser.present(one.state, document, { headers })).json.code).toBe('proof_replayed')
  })

  it('an unbound credential is not accepted where the site wants holder proofs', async () => {
    const { opened, issued } = await openHosted(open(), { holderProof: 'required' })
    const { browser, state } = await opened()
    expect((await browser.present(state, (await issued()).document)).json.code).toBe('proof_required')
  })

  it('gives ten tries and no more, also when they come at once', async () => {
    const { opened, issued } = await openHosted(open())
    const { document: bad } = await issued({}, await newParty())
    const { document: good } = await issued()
    const one = await opened()
    for (let i = 0; i < 10; i++)
      expect((await one.browser.present(one.state, bad)).json.code).toBe('issuer_untrusted')
    expect((await one.browser.present(one.state, good)).json.code).toBe('state_invalid')
    const two = await opened()
    const answers = await Promise.all(Array.from({ length: 30 }, () => two.browser.present(two.state, bad)))
    expect(answers.filter(({ json }) => json.code === 'issuer_untrusted')).toHaveLength(10)
    expect(answers.filter(({ json }) => json.code === 'state_invalid')).toHaveLength(20)
  })

  it('A11: says with each refusal how many tries are left, and at the end that all were used', async () => {
    const { opened, issued } = await openHosted(open())
    const { document: bad } = await issued({}, await newParty())
    const { browser, state, page, authUrl } = await opened()
    const left = []
    for (let i = 0; i < 6; i++) left.push((await browser.present(state, bad)).json.tries_left)
    expect(left).toEqual([9, 8, 7, 6, 5, 4])
    const csrf = hiddenField(page, 'csrf_token')
    const said = []
    for (let i = 0; i < 5; i++) said.push(await browser.presentForm(state, JSON.stringify(bad), csrf))
    expect(said.map(({ status }) => status)).toEqual([401, 401, 401, 401, 400])
    expect(said[0]?.text).toContain('3 tries left. After that')
    expect(said[1]?.text).toContain('2 tries left. After that')
    expect(said[2]?.text).toContain('This is your last try.')
    // The right reason at the end, here and wherever the person looks again, and a way back.
    for (const { text } of [...said.slice(3), await browser.get(authUrl)]) {
      expect(text).toContain('You’ve used all tries of this sign-in')
      expect(text).toContain(`href="${RETURN_URL}?`)
    }
    const { json } = await browser.present(state, bad)
    expect([json.code, json.tries_left]).toEqual(['state_invalid', 0])
    // Another browser is told nothing of it.
    const { json: fromOtherBrowser } = await (await opened()).browser.present(state, bad)
    expect([fromOtherBrowser.code, fromOtherBrowser.tries_left]).toEqual(['state_invalid', undefined])
  })

  it('A8: an empty form is not a try', async () => {
    const { opened, issued } = await openHosted(open())
    const { browser, state, page } = await opened()
    const csrf = hiddenField(page, 'csrf_token')
    for (let i = 0; i < 12; i++) {
      const { status, text } = await browser.presentForm(state, ' \n ', csrf)
      expect([status, text]).toEqual([400, expect.stringContaining('You haven’t chosen anything yet.')])
      expect(text).not.toMatch(/notice bad.*tries left/)
    }
    const { document: bad } = await issued({}, await newParty())
    expect((await browser.present(state, bad)).json.tries_left).toBe(9)
  })

  describe('A213: 403 csrf_invalid', () => {
    it('for another origin, the origin null, several of them, and what the browser calls cross-site', async () => {
      const { opened, issued } = await openHosted(open())
      const { document } = await issued()
      const { browser, state } = await opened()
      for (const headers of [
        { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
        { origin: 'https://evil.example' },
        { origin: 'https://evil.example', 'sec-fetch-site': undefined },
        { origin: 'https://service.example.evil.example', 'sec-fetch-site': undefined },
        { origin: 'http://service.example', 'sec-fetch-site': undefined },
        { origin: 'https://service.example:8443', 'sec-fetch-site': undefined },
        { origin: 'null' },
        { origin: 'null', 'sec-fetch-site': undefined },
        { origin: undefined, 'sec-fetch-site': 'cross-site' },
        { origin: undefined, 'sec-fetch-site': 'same-site' },
        { origin: undefined, 'sec-fetch-site': 'none' },
        { 'sec-fetch-site': 'same-site' },
        { origin: undefined, 'sec-fetch-site': undefined },
      ]) {
        const { status, json } = await browser.present(state, document, { headers })
        expect([status, json.code], JSON.stringify(headers)).toEqual([403, 'csrf_invalid'])
      }
      expect((await browser.present(state, document)).status).toBe(200)
    })

    it('for a form without the token of its page, or with that of another', async () => {
      const { opened, issued } = await openHosted(open())
      const { header } = await issued()
      const { browser, state, page } = await opened()
      const other = await opened()
      for (const token of [
        '',
        'x',
        hiddenField(other.page, 'csrf_token'),
        `${hiddenField(page, 'csrf_token')}x`,
      ]) {
        const { status, text } = await browser.presentForm(state, header, token)
        expect([status, text.includes('csrf_invalid')], token).toEqual([403, true])
      }
      const foreign = await browser.presentForm(state, header, hiddenField(page, 'csrf_token'), {
        'sec-fetch-site': 'cross-site',
      })
      expect(foreign.status).toBe(403)
      expect((await browser.presentForm(state, header, hiddenField(page, 'csrf_token'))).status).toBe(303)
    })

    it('control: the route itself, without the check of where a request comes from, takes it from anywhere', async () => {
      const { opened, issued, node } = await openHosted(open())
      const { document } = await issued()
      const { browser, state } = await opened()
      const fields: Record<string, string> = {
        cookie: browser.cookie ?? '',
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
      }
      const body = { state, credential: document }
      const request = {
        body,
        credentialBody: readCredentialBody(Buffer.from(JSON.stringify(body))),
        lines: (name: string) => (fields[name] === undefined ? undefined : [fields[name]]),
        caller: anonymous,
        requestId: 'req_1',
      } as unknown as RouteRequest<'present'>
      expect((await present(request, node.deps)).status).toBe(200)
    })
  })

  it('A218: answers no preflight with leave to go on', async () => {
    const { send } = await openHosted(open())
    for (const origin of ['https://evil.example', 'null']) {
      const { headers } = await send('OPTIONS', '/auth/present', {
        headers: { origin, 'access-control-request-method': 'POST' },
      })
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  it('shows a form the page again with the reason, and the same status, and takes the next try', async () => {
    const { opened, issued, B } = await openHosted(open())
    const { browser, state, page } = await opened()
    const csrf = hiddenField(page, 'csrf_token')
    const holder = await newParty()
    const tries: [string, number, string][] = [
      ['nonsense', 400, 'isn’t a credential that we can read'],
      ['{"a":1,"a":2}', 400, 'isn’t a credential that we can read'],
      [`{"a":"${'x'.repeat(7000)}"}`, 400, 'isn’t a credential that we can read'],
      [(await issued({ siteId: B })).header, 403, 'is for another site'],
      [(await issued({ holderKey: holder.did })).header, 401, 'bound to a key'],
      [JSON.stringify((await issued({}, await newParty())).document), 401, 'doesn’t trust'],
    ]
    for (const [text, status, words] of tries) {
      const shown = await browser.presentForm(state, text, csrf)
      expect([shown.status, hiddenField(shown, 'state'), hiddenField(shown, 'csrf_token')]).toEqual([
        status,
        state,
        csrf,
      ])
      expect(shown.text).toContain(words)
      // What was pasted does not come back.
      expect(shown.text).not.toContain(text.slice(0, 60))
    }
    expect(
      (await browser.presentForm(state, (await issued()).header, csrf, { accept: 'application/json' }))
        .status,
    ).toBe(303)
    expect((await browser.presentForm(state, 'x', csrf, { accept: 'application/json' })).json.code).toBe(
      'credential_malformed',
    )
  })

  it('I-20: neither state, payload, code, cookie nor credential is ever logged', async () => {
    const { signedIn, issued, redeem, logged, opened } = await openHosted(open())
    const { document, header } = await issued()
    const flow = await signedIn(document)
    const cookies = [...(await opened()).browser.jar.values()]
    await redeem(flow.code)
    await flow.browser.get(flow.callbackUrl)
    const secrets = [
      flow.state,
      flow.payload,
      flow.code,
      ...cookies,
      header,
      header.slice(0, 40),
      String((document as { proof: { proofValue: string } }).proof.proofValue),
    ]
    expect(logged.length).toBeGreaterThan(5)
    for (const secret of secrets) expect(logged.join('\n')).not.toContain(secret)
  })
})
