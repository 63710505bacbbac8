import { randomUUID } from 'node:crypto'
import { CompactSign } from 'jose'
import type { Response } from 'light-my-request'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createRoundTrip, type RoundTrip, sealRoundTrip } from '../../src/identity-provider/round-trip.ts'
import { AUDIT_REJECTED } from '../../src/store/audit-rows.ts'
import { newSigner } from '../signals/test-sender.ts'
import { DAY } from '../store/fixtures.ts'
import { forEachStoreWriter, type StoreWriter } from '../store/store-writer.ts'
import { auditOf, COOKIE, type ConsoleNode, openConsoleNode, outcome, SHOP } from './console-node.ts'
import { SoftwareAuthenticator } from './software-authenticator.ts'
import { CLIENT_ID, CLIENT_SECRET, startTestProvider, type TestProvider } from './test-provider.ts'

const TRIP = '__Host-countersign-sign-in'
const MINUTE = 60_000
const page = { accept: 'text/html' }

forEachStoreWriter('sign-in with an identity provider', (newWriter) => {
  let provider: TestProvider
  let writer: StoreWriter
  let node: ConsoleNode
  const settings = (issuer: string) => ({
    COUNTERSIGN_CONSOLE_OIDC_ISSUER: issuer,
    COUNTERSIGN_CONSOLE_OIDC_CLIENT_ID: CLIENT_ID,
    COUNTERSIGN_CONSOLE_OIDC_CLIENT_SECRET: CLIENT_SECRET,
    COUNTERSIGN_CONSOLE_OIDC_NAME: 'Example',
    COUNTERSIGN_CONSOLE_OIDC_ROLES: `ops=all:operator shop%20desk=${SHOP}:viewer oncall=${SHOP}:responder gone=none.example:admin`,
  })
  beforeAll(async () => {
    provider = await startTestProvider()
    writer = await newWriter()
    node = await openConsoleNode(writer, settings(provider.issuer))
  })
  afterAll(async () => {
    await node.close()
    await provider.close()
  })
  beforeEach(() => {
    provider.said = {}
    provider.metadata = {}
  })

  const cookieOf = (answer: Response, name: string) =>
    [answer.headers['set-cookie'] ?? []].flat().find((line) => line.startsWith(`${name}=`))
  const pairOf = (answer: Response, name: string) => cookieOf(answer, name)?.split(';')[0] ?? ''

  /** A browser: what it has set out with, and the way back. */
  const begin = async (query = '', headers: Readonly<Record<string, string>> = {}) => {
    const answer = await node.send(`/console/oidc/start${query}`, { headers })
    const { location } = answer.headers
    if (location === undefined) throw new Error(answer.body)
    return { answer, cookie: pairOf(answer, TRIP), ...provider.authorize(location) }
  }
  const back = (callback: string, cookie: string, headers = {}) =>
    node.send(callback, { headers: { cookie, ...headers } })
  const signIn = async (query?: string, headers?: Readonly<Record<string, string>>) => {
    const { callback, cookie } = await begin(query, headers)
    return back(callback, cookie)
  }
  /** The session that an answer has opened, as its page sees it. */
  const sessionOf = async (answer: Response) => {
    const cookie = pairOf(answer, COOKIE)
    const headers = { 'sec-fetch-site': 'same-origin', cookie }
    return { cookie, ...(await node.send('/console/session', { headers })).json() }
  }
  const newSub = () => `sub-${randomUUID()}`
  const people = () => node.service.deps.store.people({ after: undefined, limit: 1000 })
  const change = (personId: string, changes: object) =>
    node.service.deps.store.changePerson(personId, changes, 1000, undefined, {
      actor: 'operator',
      atMs: node.service.deps.clock.nowMs(),
    })

  it('is listed among the ways to sign in', async () => {
    const headers = { 'sec-fetch-site': 'same-origin' }
    expect((await node.send('/console/doors', { headers })).json()).toMatchObject({
      oidc: { name: 'Example' },
    })
  })

  it('sends the browser to the provider with state, nonce and PKCE, and a cookie of ten minutes', async () => {
    const { answer, query } = await begin('?return=/console/users')
    expect(answer.statusCode).toBe(303)
    expect(Object.fromEntries(query)).toEqual({
      client_id: CLIENT_ID,
      response_type: 'code',
      redirect_uri: 'https://id.example/console/oidc/callback',
      scope: 'openid profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    const cookie = cookieOf(answer, TRIP) ?? ''
    expect(cookie).toMatch(
      /^__Host-countersign-sign-in=v1\.[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
    for (const secret of [query.get('state'), query.get('nonce')]) expect(cookie).not.toContain(secret)
  })

  it('adds the person at the first sign-in, and finds them by issuer and sub afterwards', async () => {
    const sub = newSub()
    provider.said = { claims: { sub } }
    const answer = await signIn('?return=/console/users%3Fstatus=revoked')
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/console/users?status=revoked'])
    expect(cookieOf(answer, COOKIE)).toMatch(/; HttpOnly; SameSite=Strict; Secure$/)
    expect(cookieOf(answer, TRIP)).toMatch(/^__Host-countersign-sign-in=; .*Max-Age=0/)
    const session = await sessionOf(answer)
    expect(session).toMatchObject({
      name: 'Ada Lovelace',
      door: 'oidc',
      roles: [{ site_id: null, role: 'operator' }],
    })
    provider.said = { claims: { sub, name: 'Ada King' } }
    expect(await sessionOf(await signIn())).toMatchObject({
      person_id: session.person_id,
      name: 'Ada King',
    })
    provider.said = { claims: { sub: newSub() } }
    expect((await sessionOf(await signIn())).person_id).not.toBe(session.person_id)
    const [scheme, basic = ''] = provider.redeemed.at(-1)?.authorization?.split(' ') ?? []
    const sent = decodeURIComponent(Buffer.from(basic, 'base64').toString())
    expect([scheme, sent]).toEqual(['Basic', `${CLIENT_ID}:${CLIENT_SECRET}`])
    const rows = (await auditOf(node)).map(({ action, target, context, detail }) => [
      action,
      target,
      context.actor,
      detail.door,
    ])
    const id = session.person_id
    expect(rows).toContainEqual(['person.create', id, `sender:${provider.issuer}`, undefined])
    expect(rows).toContainEqual(['session.open', session.session_id, `person:${id}`, 'oidc'])
  })

  it('gives one role for each site, that of the first group in the settings', async () => {
    provider.said = { claims: { sub: newSub(), groups: ['oncall', 'shop desk', 'gone', 'other'] } }
    expect(await sessionOf(await signIn())).toMatchObject({ roles: [{ site_id: SHOP, role: 'viewer' }] })
    provider.said = { claims: { sub: newSub(), groups: 'oncall' } }
    expect(await sessionOf(await signIn())).toMatchObject({ roles: [{ site_id: SHOP, role: 'responder' }] })
  })

  it('ends the session that the browser had', async () => {
    provider.said = { claims: { sub: newSub() } }
    const first = await sessionOf(await signIn())
    await signIn('', { cookie: first.cookie, 'sec-fetch-site': 'same-origin' })
    const headers = { 'sec-fetch-site': 'same-origin', cookie: first.cookie }
    expect((await node.send('/console/session', { headers })).statusCode).toBe(401)
  })

  describe('a round trip', () => {
    it('A310: is not finished with the state of another one', async () => {
      const [one, two] = [await begin(), await begin()]
      const before = provider.redeemed.length
      expect(outcome(await back(two.callback, one.cookie))).toEqual([400, 'state_invalid'])
      expect(provider.redeemed).toHaveLength(before)
      expect((await back(one.callback, one.cookie)).statusCode).toBe(303)
    })

    it('A311: is not finished in another browser (login CSRF)', async () => {
      const { callback, cookie } = await begin()
      expect(outcome(await node.send(callback))).toEqual([400, 'state_invalid'])
      expect(outcome(await back(callback, `${TRIP}=v1.00000000.AAAA`))).toEqual([400, 'state_invalid'])
      expect(outcome(await back(callback, `${cookie}x`))).toEqual([400, 'state_invalid'])
      expect(outcome(await back(callback, `${cookie}; ${cookie}`))).toEqual([400, 'state_invalid'])
    })

    it('A312: is finished once, whatever the provider says', async () => {
      const { callback, cookie } = await begin()
      const answers = await Promise.all([back(callback, cookie), back(callback, cookie)])
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 400])
      expect(outcome(await back(callback, cookie))).toEqual([400, 'state_invalid'])
    })

    it('A313: ends after ten minutes', async () => {
      const old = (ageMs: number): RoundTrip => ({
        ...createRoundTrip({
          redirectUri: 'https://id.example/console/oidc/callback',
          returnTo: '/console',
          startedAtMs: node.service.deps.clock.nowMs() - ageMs,
          isStepUp: false,
          personId: undefined,
          replaced: undefined,
        }),
      })
      const finish = (trip: RoundTrip) => {
        const callback = `/console/oidc/callback?code=x&state=${trip.state}`
        return back(callback, `${TRIP}=${sealRoundTrip(node.service.deps.keys, trip)}`)
      }
      expect(outcome(await finish(old(10 * MINUTE)))).toEqual([400, 'state_invalid'])
      // The code is wrong; the round trip is not.
      expect(outcome(await finish(old(9 * MINUTE)))).toEqual([400, 'callback_invalid'])
    })

    it('A314: is not finished with a code of another one, or in the name of another issuer', async () => {
      const [one, two] = [await begin(), await begin()]
      const swapped = new URLSearchParams(two.callback.split('?')[1])
      swapped.set('state', new URLSearchParams(one.callback.split('?')[1]).get('state') ?? '')
      expect(outcome(await back(`/console/oidc/callback?${swapped}`, one.cookie))).toEqual([
        400,
        'callback_invalid',
      ])
      const other = two.callback.replace(encodeURIComponent(provider.issuer), 'https%3A%2F%2Fevil.example')
      expect(outcome(await back(other, two.cookie))).toEqual([400, 'callback_invalid'])
    })

    it('A315: leads to a page of the console only', async () => {
      for (const target of ['https://evil.example', '//evil.example', '/wallet', '/console/../wallet'])
        expect(outcome(await node.send(`/console/oidc/start?return=${encodeURIComponent(target)}`))).toEqual([
          422,
          'validation_failed',
        ])
    })

    it('A316: is begun by a page of the console or by hand, and by no other site', async () => {
      const start = (site: string) =>
        node.send('/console/oidc/start', { headers: { 'sec-fetch-site': site } })
      for (const site of ['cross-site', 'same-site'])
        expect(outcome(await start(site))).toEqual([403, 'csrf_invalid'])
      for (const site of ['same-origin', 'none']) expect((await start(site)).statusCode).toBe(303)
    })

    it('says what the provider says, as a page for browsers', async () => {
      const { query, cookie } = await begin()
      const callback = `/console/oidc/callback?state=${query.get('state')}&error=access_denied`
      const answer = await back(callback, cookie, page)
      expect(answer.statusCode).toBe(400)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(answer.body).toContain('The identity provider did not sign you in (access_denied).')
      expect(cookieOf(answer, TRIP)).toMatch(/Max-Age=0/)
    })
  })

  describe('an ID token', () => {
    const hour = 3600
    const now = () => Math.floor(Date.now() / 1000)
    const unsigned = (header: object, claims: object) =>
      `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`
    const spoilt = [
      ['the nonce of another sign-in', () => ({ claims: { nonce: 'x'.repeat(43) } })],
      ['no nonce', () => ({ claims: { nonce: undefined } })],
      ['another issuer', () => ({ claims: { iss: 'https://evil.example' } })],
      ['another audience', () => ({ claims: { aud: 'other' } })],
      ['several audiences without azp', () => ({ claims: { aud: [CLIENT_ID, 'other'] } })],
      ['another authorized party', () => ({ claims: { aud: [CLIENT_ID, 'other'], azp: 'other' } })],
      ['an end that is past', () => ({ claims: { exp: now() - hour } })],
      ['an old iat', () => ({ claims: { iat: now() - hour } })],
      ['an iat in the future', () => ({ claims: { iat: now() + hour } })],
      ['an auth_time in the future', () => ({ claims: { auth_time: now() + hour } })],
      ['no sub', () => ({ claims: { sub: undefined } })],
      ['an empty sub', () => ({ claims: { sub: '' } })],
      ['a sub that is too long', () => ({ claims: { sub: 'x'.repeat(257) } })],
      ['a sid that is no text', () => ({ claims: { sid: 7 } })],
      ['no token at all', () => ({ idToken: '' })],
      ['a token that is none', () => ({ idToken: 'a.b.c' })],
    ] as const

    it.each(spoilt)('A317: with %s opens no session, and adds no person', async (_name, say) => {
      const before = (await people()).length
      const { callback, cookie } = await begin()
      provider.said = { ...say() }
      const answer = await back(callback, cookie)
      expect(outcome(answer)).toEqual([400, 'callback_invalid'])
      expect(cookieOf(answer, COOKIE)).toBeUndefined()
      expect(await people()).toHaveLength(before)
    })

    it('A365: with a sub or sid that no store keeps exactly opens no session, and spoils no row', async () => {
      const { length } = await people()
      for (const claims of [
        // A store writes the same text for both.
        { sub: 'a\ud800' },
        { sub: 'a\udfff' },
        { sub: 'a\0b' },
        { sub: 'a\nb' },
        { sub: 'a\u2028b' },
        { sub: newSub(), sid: 's\ud800' },
      ]) {
        provider.said = { claims }
        expect([claims, outcome(await signIn())]).toEqual([claims, [400, 'callback_invalid']])
      }
      expect(await people()).toHaveLength(length)
      // Control arm: unusual, and kept exactly.
      const found = new Set<string>()
      for (const sub of ['auth0|Zoë 雪', 'auth0|Zoe 雪', 'a\ufffd']) {
        provider.said = { claims: { sub } }
        found.add((await sessionOf(await signIn())).person_id)
      }
      expect(found.size).toBe(3)
    })

    it('A318: is not accepted without a signature, with the secret of the client, or by another key', async () => {
      const { query, callback, cookie } = await begin()
      const claims = {
        iss: provider.issuer,
        aud: CLIENT_ID,
        sub: 'ada',
        iat: now(),
        exp: now() + 300,
        nonce: query.get('nonce'),
        groups: ['ops'],
      }
      const hmac = await new CompactSign(Buffer.from(JSON.stringify(claims)))
        .setProtectedHeader({ alg: 'HS256' })
        .sign(Buffer.from(CLIENT_SECRET))
      const finish = async (said: TestProvider['said']) => {
        provider.said = said
        const { callback: way, cookie: trip, query: asked } = await begin()
        const nonce = asked.get('nonce')
        if (said.idToken === 'none')
          provider.said = { idToken: unsigned({ alg: 'none' }, { ...claims, nonce }) }
        return outcome(await back(way, trip))
      }
      provider.said = { idToken: hmac }
      expect(outcome(await back(callback, cookie))).toEqual([400, 'callback_invalid'])
      expect(await finish({ idToken: 'none' })).toEqual([400, 'callback_invalid'])
      expect(await finish({ signer: await newSigner('ES256', provider.signer.kid) })).toEqual([
        400,
        'callback_invalid',
      ])
    })

    it('has a name that is cleaned, and claims of any size do no harm', async () => {
      const name = `  Ada\u202E\u0000\n<img src=x onerror=alert(1)>\u200B ${'x'.repeat(2000)}`
      const groups = [...Array.from({ length: 2000 }, (_, i) => `group-${i}`), 7, null, 'ops']
      provider.said = { claims: { sub: newSub(), name, groups } }
      const session = await sessionOf(await signIn())
      expect(session.name).toHaveLength(64)
      expect(session.name).toMatch(/^Ada <img src=x onerror=alert\(1\)> x+$/)
      provider.said = { claims: { sub: newSub(), groups: ['ops'], junk: 'x'.repeat(100_000) } }
      expect(outcome(await signIn())).toEqual([503, 'provider_unavailable'])
      provider.said = { claims: { sub: 'sub-without-name', name: { a: 1 } } }
      expect((await sessionOf(await signIn())).name).toBe('sub-without-name')
    })
  })

  describe('access', () => {
    it('A319: needs a group with a role: otherwise there is a clear page, and neither person nor session', async () => {
      const before = (await people()).length
      for (const groups of [[], ['other'], ['gone'], ['OPS'], undefined, { ops: true }, 'ops oncall']) {
        provider.said = { claims: { sub: newSub(), groups } }
        const { callback, cookie } = await begin()
        const answer = await back(callback, cookie, page)
        expect(answer.statusCode).toBe(403)
        expect(answer.body).toContain('No group of your account has a role in the console.')
        expect(cookieOf(answer, COOKIE)).toBeUndefined()
      }
      expect(await people()).toHaveLength(before)
      expect((await auditOf(node)).map(({ detail }) => [detail.outcome, detail.code])).toContainEqual([
        AUDIT_REJECTED,
        'no_role',
      ])
    })

    it('A320: follows the groups at every sign-in: without one, every session ends', async () => {
      const sub = newSub()
      provider.said = { claims: { sub, groups: ['ops'] } }
      const first = await sessionOf(await signIn())
      provider.said = { claims: { sub, groups: ['oncall'] } }
      expect(await sessionOf(await signIn())).toMatchObject({ roles: [{ site_id: SHOP, role: 'responder' }] })
      const headers = { 'sec-fetch-site': 'same-origin', cookie: first.cookie }
      expect((await node.send('/console/session', { headers })).json().roles).toHaveLength(1)
      provider.said = { claims: { sub, groups: [] } }
      expect(outcome(await signIn())).toEqual([403, 'sign_in_forbidden'])
      expect((await node.send('/console/session', { headers })).statusCode).toBe(401)
      expect(await node.service.deps.store.person(first.person_id)).toMatchObject({
        roles: [],
        status: 'active',
      })
    })

    it('A321: that an operator has ended stays ended, also after a year', async () => {
      const sub = newSub()
      provider.said = { claims: { sub } }
      const { person_id } = await sessionOf(await signIn())
      await change(person_id, { status: 'ended' })
      expect(outcome(await signIn())).toEqual([403, 'sign_in_forbidden'])
      await node.service.deps.store.purgeExpired(Date.now() + 800 * DAY)
      const { callback, cookie } = await begin()
      expect((await back(callback, cookie, page)).body).toContain('Your access to the console was ended.')
      expect((await people()).filter(({ personId }) => personId === person_id)).toHaveLength(1)
      await change(person_id, { status: 'active' })
      expect((await signIn()).statusCode).toBe(303)
    })

    it('is limited in number', async () => {
      const { store, clock } = node.service.deps
      const atMs = clock.nowMs()
      const order = {
        session: { sha256: randomUUID(), sessionId: 's', expiresAtMs: atMs, elevatedUntilMs: atMs },
        replaced: undefined,
        sessionsMax: 20,
        peopleMax: 1,
      }
      const account = {
        issuer: provider.issuer,
        subject: newSub(),
        sid: undefined,
        issuedAtMs: atMs,
        name: 'Ada',
        nameOtherwise: 'x',
        roles: [{ siteId: null, role: 'operator' as const }],
        expectedPersonId: undefined,
        newPersonId: `person_${randomUUID()}`,
      }
      expect(await store.openProviderSession(account, order, { atMs, requestId: 'r' })).toEqual({
        state: 'full',
        personId: undefined,
      })
    })

    it('A322: of an account whose row was changed in the store is not given to another person', async () => {
      const sub = newSub()
      provider.said = { claims: { sub, groups: ['oncall'] } }
      await signIn()
      provider.said = { claims: { sub: newSub() } }
      const { person_id } = await sessionOf(await signIn())
      await writer.sql('UPDATE person_identities SET person_id = $1 WHERE subject = $2', person_id, sub)
      provider.said = { claims: { sub, groups: ['oncall'] } }
      expect(outcome(await signIn())).toEqual([503, 'store_unavailable'])
      await writer.sql('DELETE FROM person_identities WHERE subject = $1', sub)
    })
  })

  describe('step-up', () => {
    const now = () => Math.floor(Date.now() / 1000)
    const create = (cookie: string) =>
      node.send('/console/api/service/operator-keys', {
        method: 'POST',
        body: {},
        headers: {
          'sec-fetch-site': 'same-origin',
          origin: 'https://id.example',
          'countersign-console': 'all',
          cookie,
        },
      })

    it('A323: a sign-in that the provider remembers does not count as recent', async () => {
      const sub = newSub()
      for (const auth_time of [undefined, now() - 3600]) {
        provider.said = { claims: { sub, auth_time } }
        const session = await sessionOf(await signIn())
        expect(session.elevated_until).toBeNull()
        expect(outcome(await create(session.cookie))).toEqual([403, 'step_up_required'])
      }
      const authTime = now() - 60
      provider.said = { claims: { sub, auth_time: authTime } }
      const session = await sessionOf(await signIn())
      expect(Date.parse(session.elevated_until)).toBe((authTime + 300) * 1000)
      expect((await create(session.cookie)).statusCode).toBe(201)
    })

    it('asks the provider to authenticate the same person again, and checks auth_time', async () => {
      const sub = newSub()
      provider.said = { claims: { sub } }
      const { cookie, person_id } = await sessionOf(await signIn())
      const own = { cookie, 'sec-fetch-site': 'same-origin' }
      const { query, callback, cookie: trip } = await begin('?step_up=1&return=/console/keys', own)
      expect([query.get('prompt'), query.get('max_age')]).toEqual(['login', '0'])
      provider.said = { claims: { sub, auth_time: now() } }
      const session = await sessionOf(await back(callback, trip))
      expect(session).toMatchObject({ person_id, elevated_until: expect.any(String) })
      for (const auth_time of [undefined, now() - 60]) {
        provider.said = { claims: { sub, auth_time } }
        const again = await signIn('?step_up=1', { ...own, cookie: session.cookie })
        expect(outcome(again)).toEqual([400, 'callback_invalid'])
      }
      provider.said = { claims: { sub: newSub(), auth_time: now() } }
      const other = await signIn('?step_up=1', { ...own, cookie: session.cookie })
      expect(outcome(other)).toEqual([400, 'callback_invalid'])
      expect((await sessionOf({ ...other, headers: { 'set-cookie': session.cookie } } as never)).name).toBe(
        'Ada Lovelace',
      )
    })
  })

  describe('POST /console/oidc/logout', () => {
    const logout = (token: string | undefined, on = node) =>
      on.send('/console/oidc/logout', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        form: new URLSearchParams(token === undefined ? {} : { logout_token: token }).toString(),
      })
    const isOpen = async ({ cookie }: { cookie: string }, on = node) =>
      (await on.send('/console/session', { headers: { 'sec-fetch-site': 'same-origin', cookie } }))
        .statusCode === 200
    const open = async (claims: Readonly<Record<string, unknown>>) => {
      provider.said = { claims }
      return sessionOf(await signIn())
    }

    it('ends the sessions of the account, and no others', async () => {
      const [sub, other] = [newSub(), newSub()]
      const mine = [await open({ sub }), await open({ sub, sid: 'sid-1' })]
      const others = await open({ sub: other })
      expect((await logout(await provider.logoutToken({ sub }))).statusCode).toBe(200)
      expect([await isOpen(mine[0]), await isOpen(mine[1]), await isOpen(others)]).toEqual([
        false,
        false,
        true,
      ])
      const rows = await auditOf(node)
      expect(rows.map(({ action, target, context }) => [action, target, context.actor])).toContainEqual([
        'session.end',
        mine[0].session_id,
        `sender:${provider.issuer}`,
      ])
    })

    it('A331: a passkey does not open a session that the provider has ended', async () => {
      const sub = newSub()
      const { cookie, person_id } = await open({ sub, auth_time: Math.floor(Date.now() / 1000) })
      const headers = { 'sec-fetch-site': 'same-origin', origin: 'https://id.example' }
      const post = (path: string, body: object | undefined, more = {}) =>
        node.send(path, { method: 'POST', ...(body && { body }), headers: { ...headers, ...more } })
      const at = async (path: string, more = {}) => ({
        challenge: (await post(path, undefined, more)).json().challenge,
        origin: 'https://id.example',
        rpId: 'id.example',
      })
      const authenticator = new SoftwareAuthenticator(person_id)
      const made = authenticator.create(await at('/console/passkeys/challenge', { cookie }))
      expect((await post('/console/passkeys', { name: 'Laptop', ...made }, { cookie })).statusCode).toBe(201)
      // It still confirms what the person does in a session from the provider.
      const confirmed = await post(
        '/console/session/step-up',
        authenticator.assert(await at('/console/session/step-up/challenge', { cookie })),
        { cookie },
      )
      expect(confirmed.statusCode).toBe(200)
      await logout(await provider.logoutToken({ sub }))
      const again = authenticator.assert(await at('/console/session/challenge'))
      const rejected = await post('/console/session/passkey', again)
      expect(outcome(rejected)).toEqual([400, 'passkey_invalid'])
      expect(rejected.json().detail).toContain('You sign in at your identity provider')
    })

    it('with sid ends that session only', async () => {
      const sub = newSub()
      const [phone, laptop] = [await open({ sub, sid: `${sub}-1` }), await open({ sub, sid: `${sub}-2` })]
      await logout(await provider.logoutToken({ sub: undefined, sid: `${sub}-1` }))
      expect([await isOpen(phone), await isOpen(laptop)]).toEqual([false, true])
      // Of another account: nothing.
      await logout(await provider.logoutToken({ sub: newSub(), sid: `${sub}-2` }))
      expect(await isOpen(laptop)).toBe(true)
      await logout(await provider.logoutToken({ sub, sid: `${sub}-2` }))
      expect(await isOpen(laptop)).toBe(false)
    })

    it('200 when there is nothing to end', async () => {
      expect((await logout(await provider.logoutToken({ sub: newSub() }))).statusCode).toBe(200)
    })

    it('A324: 400 for a token that is not such a logout, and nothing ends', async () => {
      const sub = newSub()
      const session = await open({ sub })
      const good = { sub }
      const signer = await newSigner('ES256', provider.signer.kid)
      const body = (await provider.logoutToken(good)).split('.')[1]
      const none = `${Buffer.from('{"alg":"none","typ":"logout+jwt"}').toString('base64url')}.${body}.`
      const hmac = await new CompactSign(Buffer.from(body ?? '', 'base64url'))
        .setProtectedHeader({ alg: 'HS256', typ: 'logout+jwt' })
        .sign(Buffer.from(CLIENT_SECRET))
      const event = 'http://schemas.openid.net/event/backchannel-logout'
      for (const token of [
        undefined,
        'x',
        none,
        hmac,
        await provider.logoutToken({ ...good, nonce: 'n' }),
        await provider.logoutToken({ ...good, events: {} }),
        await provider.logoutToken({ ...good, events: { other: {} } }),
        await provider.logoutToken({ ...good, events: { [event]: 'x' } }),
        await provider.logoutToken({ ...good, events: { [event]: {}, other: {} } }),
        await provider.logoutToken({ ...good, iss: 'https://evil.example' }),
        await provider.logoutToken({ ...good, aud: 'other' }),
        await provider.logoutToken({ ...good, aud: [CLIENT_ID, 7] }),
        await provider.logoutToken({ ...good, aud: undefined }),
        await provider.logoutToken({ ...good, iat: undefined }),
        await provider.logoutToken({ ...good, iat: Math.floor(Date.now() / 1000) + 3600 }),
        await provider.logoutToken({ ...good, exp: Math.floor(Date.now() / 1000) - 60 }),
        await provider.logoutToken({ ...good, jti: undefined }),
        await provider.logoutToken({ sub: undefined }),
        // A365: no account has such a name.
        await provider.logoutToken({ sub: `${sub}\0` }),
        await provider.logoutToken({ ...good, sid: 'a\0b' }),
        await provider.logoutToken(good, { typ: 'at+jwt' }),
        await provider.logoutToken(good, {}, signer),
      ])
        expect([token, ...outcome(await logout(token))]).toEqual([token, 400, 'signal_invalid'])
      expect(await isOpen(session)).toBe(true)
      expect((await logout(await provider.logoutToken(good))).statusCode).toBe(200)
    })

    it('A325: a repeated token has no second effect, and its jti cannot be used for another', async () => {
      const sub = newSub()
      await open({ sub })
      const token = await provider.logoutToken({
        sub,
        iat: Math.floor(Date.now() / 1000) - 5,
        jti: `j-${sub}`,
      })
      expect((await logout(token)).statusCode).toBe(200)
      const later = await open({ sub })
      expect((await logout(token)).statusCode).toBe(200)
      expect(await isOpen(later)).toBe(true)
      const other = await provider.logoutToken({ sub, jti: `j-${sub}` })
      expect(outcome(await logout(other))).toEqual([400, 'signal_invalid'])
      // A planted row cannot swallow a logout.
      await writer.sql(
        `INSERT INTO provider_logouts (issuer, jti, body_sha256, issued_at, expires_at, mac) VALUES ($1, $2, 'x', 0, 0, 'x')`,
        provider.issuer,
        `planted-${sub}`,
      )
      const planted = await provider.logoutToken({ sub, jti: `planted-${sub}` })
      expect(outcome(await logout(planted))).toEqual([503, 'store_unavailable'])
      await writer.sql('DELETE FROM provider_logouts WHERE jti = $1', `planted-${sub}`)
      expect((await logout(planted)).statusCode).toBe(200)
      expect(await isOpen(later)).toBe(false)
    })

    it('A326: a sign-in that was under way when its account logged out opens no session', async () => {
      const sub = newSub()
      for (const named of [{ sub }, { sub: undefined, sid: `s-${sub}` }]) {
        const { callback, cookie } = await begin()
        provider.said = { claims: { sub, sid: `s-${sub}` } }
        await logout(await provider.logoutToken({ iat: Math.floor(Date.now() / 1000) + 5, ...named }))
        expect(outcome(await back(callback, cookie))).toEqual([400, 'callback_invalid'])
      }
    })

    it('ends them on every node within two seconds', { tags: 'long' }, async () => {
      if (writer.place.kind === 'sqlite') return
      const second = await openConsoleNode(writer, settings(provider.issuer))
      try {
        const sub = newSub()
        const session = await open({ sub })
        expect(await isOpen(session, second)).toBe(true)
        await logout(await provider.logoutToken({ sub }))
        const endedMs = performance.now()
        // When the last request that was accepted was sent: the machine may have much else to do.
        let acceptedMs = 0
        const ask = async () => {
          const askedMs = performance.now()
          const isAccepted = await isOpen(session, second)
          if (isAccepted) acceptedMs = askedMs
          return isAccepted
        }
        await expect.poll(ask, { interval: 20 }).toBe(false)
        expect(acceptedMs - endedMs).toBeLessThan(2000)
      } finally {
        await second.close()
      }
    })
  })

  it('I-15: sign-ins that wait for the provider take no room from verifications', {
    tags: 'long',
  }, async () => {
    const small = await openConsoleNode(await newWriter(), {
      ...settings(provider.issuer),
      COUNTERSIGN_OVERLOAD_IN_FLIGHT_MAX: '1',
      COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '60000',
    })
    try {
      const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      provider.said = {
        async answer(response) {
          begun.resolve()
          await released.promise
          response.writeHead(503).end()
        },
      }
      const started = await small.send('/console/oidc/start')
      const { callback } = provider.authorize(String(started.headers.location))
      const finishing = small.send(callback, { headers: { cookie: pairOf(started, TRIP) } })
      await begun.promise
      const headers = { 'x-api-key': small.operatorKey }
      const body = { token: 'x' }
      const verified = await small.send('/api/auth/introspect', { method: 'POST', body, headers })
      released.resolve()
      expect(verified.statusCode).not.toBe(503)
      expect(outcome(await finishing)).toEqual([503, 'provider_unavailable'])
    } finally {
      await small.close()
    }
  })

  describe('a provider that does not answer as it should', () => {
    const withNode = async (issuer: string, work: (other: ConsoleNode) => Promise<void>) => {
      const other = await openConsoleNode(await newWriter(), settings(issuer))
      try {
        await work(other)
      } finally {
        await other.close()
      }
    }

    it('A327: is said to be unavailable, soon; other doors stay open', { tags: 'long' }, async () => {
      const down = await startTestProvider()
      await down.close()
      await withNode(down.issuer, async (other) => {
        const startedMs = performance.now()
        const answer = await other.send('/console/oidc/start', { headers: page })
        expect([answer.statusCode, performance.now() - startedMs < 3000]).toEqual([503, true])
        expect(answer.body).toContain('Identity provider unavailable')
        const headers = { 'sec-fetch-site': 'same-origin' }
        expect((await other.send('/console/doors', { headers })).json().oidc).toEqual({ name: 'Example' })
        expect(other.logged.join('')).toContain('could not load the metadata of the identity provider')
        const token = await provider.logoutToken({ iss: down.issuer })
        const sent = await other.send('/console/oidc/logout', {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          form: `logout_token=${token}`,
        })
        expect(outcome(sent)).toEqual([503, 'signal_keys_unavailable'])
      })
    })

    it.each([
      ['names another issuer', { issuer: 'http://127.0.0.1:9/other' }],
      ['has no keys', { jwks_uri: undefined }],
      ['leads to a private network', { token_endpoint: 'https://10.0.0.1/token' }],
    ])('A328: whose metadata %s signs no person in', async (_name, metadata) => {
      const odd = await startTestProvider()
      odd.metadata = metadata
      try {
        await withNode(odd.issuer, async (other) => {
          const answer = await other.send('/console/oidc/start')
          if (answer.statusCode !== 303) return expect(outcome(answer)).toEqual([503, 'provider_unavailable'])
          const { callback } = odd.authorize(answer.headers.location ?? '')
          const headers = { cookie: pairOf(answer, TRIP) }
          expect(outcome(await other.send(callback, { headers }))).toEqual([503, 'provider_unavailable'])
          expect(odd.redeemed).toEqual([])
        })
      } finally {
        await odd.close()
      }
    })

    it('A329: is not followed to another address, and is not read without end', async () => {
      for (const say of [
        (response: { writeHead: CallableFunction }) =>
          response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end(),
        (response: { writeHead: CallableFunction }) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(100_000)),
        (response: { writeHead: CallableFunction }) =>
          response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}'),
        (response: { writeHead: CallableFunction }) =>
          response
            .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
            .end('x'),
        (response: { writeHead: CallableFunction }) => response.writeHead(500).end(),
      ]) {
        provider.said = { answer: say as never }
        expect(outcome(await signIn())).toEqual([503, 'provider_unavailable'])
      }
    })
  })

  it('404 without a provider in the settings', async () => {
    const other = await openConsoleNode(await newWriter())
    try {
      const state = 'A'.repeat(43)
      for (const path of ['start', `callback?code=x&state=${state}`])
        expect(outcome(await other.send(`/console/oidc/${path}`))).toEqual([404, 'not_found'])
      const headers = { 'sec-fetch-site': 'same-origin' }
      expect((await other.send('/console/doors', { headers })).json().oidc).toBeNull()
    } finally {
      await other.close()
    }
  })

  it('A330: neither secret, state, nonce, code nor token is logged', async () => {
    const { query, callback, cookie } = await begin()
    await back(callback, cookie)
    provider.said = { claims: { nonce: 'wrong' } }
    await signIn()
    const logged = node.logged.join('')
    for (const secret of [
      CLIENT_SECRET,
      query.get('state'),
      query.get('nonce'),
      new URL(callback, 'http://x').searchParams.get('code'),
      'eyJ',
    ])
      expect(logged).not.toContain(secret)
  })
})
