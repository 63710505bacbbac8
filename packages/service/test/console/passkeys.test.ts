import { randomBytes } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import type { Response } from 'light-my-request'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forEachStoreWriter, type StoreWriter } from '../store/store-writer.ts'
import {
  addPerson,
  auditOf,
  type Browser,
  COOKIE,
  type ConsoleNode,
  ORIGIN,
  openConsoleNode,
  outcome,
  SAME_ORIGIN,
  SHOP,
  signIn,
} from './console-node.ts'
import { type Ceremony, otherKey, SoftwareAuthenticator } from './software-authenticator.ts'

const MINUTE = 60_000
const RP_ID = 'id.example'

forEachStoreWriter('passkeys', (newWriter) => {
  let writer: StoreWriter
  let node: ConsoleNode
  beforeAll(async () => {
    writer = await newWriter()
    node = await openConsoleNode(writer, { COUNTERSIGN_RATE_LIMIT_WRONG_KEY: '10000/10' })
  })
  afterAll(() => node.close())

  const viewer = () => addPerson(node, [{ siteId: SHOP, role: 'viewer' }])
  const operator = () => addPerson(node, [{ siteId: null, role: 'operator' }])
  const at = (challenge: string): Ceremony => ({ challenge, origin: ORIGIN, rpId: RP_ID })
  const post = (path: string, body?: object, headers: object = {}) =>
    node.send(path, { method: 'POST', ...(body && { body }), headers: { ...SAME_ORIGIN, ...headers } })

  const challengeOf = async (answer: Promise<Response>): Promise<string> => {
    const given = await answer
    expect(given.statusCode).toBe(200)
    return given.json().challenge
  }
  const startAdding = (browser: Browser) =>
    challengeOf(browser.ask('/console/passkeys/challenge', { method: 'POST' }))
  const add = (browser: Browser, made: object, name = 'Laptop') =>
    browser.ask('/console/passkeys', { method: 'POST', body: { name, ...made } })
  const newPasskey = async (browser: Browser) => {
    const authenticator = new SoftwareAuthenticator(browser.personId)
    const answer = await add(browser, authenticator.create(at(await startAdding(browser))))
    expect(outcome(answer)).toEqual([201, ''])
    return { authenticator, passkeyId: answer.json().passkey_id as string }
  }
  const startSigningIn = () => challengeOf(post('/console/session/challenge'))
  const startStepUp = (browser: Browser) =>
    challengeOf(browser.ask('/console/session/step-up/challenge', { method: 'POST' }))
  const cookieOf = (answer: Response) =>
    `${COOKIE}=${/=([A-Za-z0-9_-]{43});/.exec(String(answer.headers['set-cookie']))?.[1]}`
  const toBrowser = (answer: Response, before: Browser): Browser => {
    const cookie = cookieOf(answer)
    return {
      ...before,
      cookie,
      sessionId: answer.json().session_id,
      ask: (path, sent = {}, role = SHOP) =>
        node.send(path, {
          ...sent,
          headers: { ...SAME_ORIGIN, cookie, 'countersign-console': role, ...sent.headers },
        }),
    }
  }

  it('registers one, lists it without its key, renames it, and writes the person to the audit', async () => {
    const browser = await signIn(node, await viewer())
    const { passkeyId } = await newPasskey(browser)
    const list = (await browser.ask('/console/passkeys')).json()
    expect(list.items).toEqual([
      {
        passkey_id: passkeyId,
        name: 'Laptop',
        rp_id: RP_ID,
        created_at: expect.any(String),
        last_used_at: null,
      },
    ])
    const renamed = await browser.ask(`/console/passkeys/${passkeyId}`, {
      method: 'PATCH',
      body: { name: 'Phone' },
    })
    expect(renamed.json()).toMatchObject({ name: 'Phone' })
    const rows = (await auditOf(node)).filter(({ target }) => target === passkeyId)
    expect(rows.map(({ action }) => action)).toEqual(['passkey.rename', 'passkey.add'])
    for (const { context } of rows) expect(context.actor).toBe(`person:${browser.personId}`)
  })

  it('signs in: a session of its own, elevated, for which the audit names the passkey', async () => {
    const first = await signIn(node, await viewer())
    const { authenticator, passkeyId } = await newPasskey(first)
    const started = await post('/console/session/challenge')
    expect(started.json()).toMatchObject({ rp_id: RP_ID, credential_ids: [] })
    const answer = await post(
      '/console/session/passkey',
      authenticator.assert({ ...at(started.json().challenge), counter: 1 }),
    )
    expect(outcome(answer)).toEqual([201, ''])
    expect(String(answer.headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Strict; Secure$/)
    expect(answer.json()).toMatchObject({
      person_id: first.personId,
      door: 'passkey',
      elevated_until: expect.any(String),
    })
    const second = toBrowser(answer, first)
    expect((await second.ask('/console/session')).json().session_id).not.toBe(first.sessionId)
    expect((await second.ask('/console/passkeys')).json().items[0].last_used_at).not.toBe(null)
    const row = (await auditOf(node)).find(({ target }) => target === second.sessionId)
    expect(row).toMatchObject({
      action: 'session.open',
      detail: { door: 'passkey', passkey: passkeyId },
      context: { actor: `person:${first.personId}` },
    })
  })

  it('steps up: another id and cookie, the same end, and the cookie from before means nothing', async () => {
    const personId = await operator()
    const { authenticator, passkeyId } = await newPasskey(await signIn(node, personId))
    const old = await signIn(node, personId, 6 * MINUTE)
    const create = (browser: Browser) =>
      browser.ask('/console/api/people', { method: 'POST', body: { name: 'Bo', roles: [] } }, 'all')
    expect(outcome(await create(old))).toEqual([403, 'step_up_required'])
    const before = (await old.ask('/console/session')).json()
    const started = await old.ask('/console/session/step-up/challenge', { method: 'POST' })
    expect(started.json().credential_ids).toEqual([authenticator.credentialId.toString('base64url')])
    const answer = await old.ask('/console/session/step-up', {
      method: 'POST',
      body: authenticator.assert(at(started.json().challenge)),
    })
    expect(outcome(answer)).toEqual([200, ''])
    const raised = toBrowser(answer, old)
    expect(answer.json()).toMatchObject({
      door: 'link',
      created_at: before.created_at,
      expires_at: before.expires_at,
      elevated_until: expect.any(String),
    })
    expect(raised.sessionId).not.toBe(old.sessionId)
    expect(outcome(await create(raised))).toEqual([201, ''])
    expect(outcome(await old.ask('/console/session'))).toEqual([401, 'session_required'])
    expect((await auditOf(node)).find(({ target }) => target === raised.sessionId)).toMatchObject({
      action: 'session.step_up',
      detail: { passkey: passkeyId, before: old.sessionId },
    })
  })

  describe('A216: what is not a new response of that very passkey gets the same answer, 400', () => {
    const forgeries: readonly (readonly [string, Partial<Ceremony>])[] = [
      ['another origin', { origin: 'https://evil.example' }],
      ['an origin that begins alike', { origin: `${ORIGIN}.evil.example` }],
      ['plain http', { origin: 'http://id.example' }],
      ['another RP id', { rpId: 'evil.example' }],
      ['the parent domain as RP id', { rpId: 'example' }],
      ['no user present', { flags: 0x04 }],
      ['no user verification', { flags: 0x01 }],
      ['a registration', { type: 'webauthn.create' }],
      ['a page in a frame of another origin', { crossOrigin: true }],
      ['another key', { key: otherKey() }],
      ['another person', { userHandle: 'person_other' }],
      ['an unknown passkey', { credentialId: randomBytes(32) }],
      ['bytes after the data', { more: Buffer.from([0]) }],
      ['a challenge of the sender', { challenge: randomBytes(38).toString('base64url') }],
    ]

    it.each(forgeries)('%s', async (_, forged) => {
      const personId = await viewer()
      const browser = await signIn(node, personId)
      const { authenticator } = await newPasskey(browser)
      const signedIn = await post(
        '/console/session/passkey',
        authenticator.assert({ ...at(await startSigningIn()), ...forged }),
      )
      expect(outcome(signedIn)).toEqual([400, 'passkey_invalid'])
      expect(signedIn.headers['set-cookie']).toBeUndefined()
      const raised = await browser.ask('/console/session/step-up', {
        method: 'POST',
        body: authenticator.assert({ ...at(await startStepUp(browser)), ...forged }),
      })
      expect(outcome(raised)).toEqual([400, 'passkey_invalid'])
      const { instance: _i, request_id: _r, ...one } = signedIn.json()
      const { instance: _j, request_id: _s, ...other } = raised.json()
      expect(one).toEqual(other)
      // The same authenticator, without the forgery.
      const good = await post('/console/session/passkey', authenticator.assert(at(await startSigningIn())))
      expect(outcome(good)).toEqual([201, ''])
      await expect
        .poll(async () =>
          (await auditOf(node)).some(
            ({ action, detail, target }) =>
              action === 'console.rejected' && detail.code === 'passkey_invalid' && target === personId,
          ),
        )
        .toBe(true)
    })

    it.each([
      ['client_data', Buffer.from('null').toString('base64url')],
      ['client_data', Buffer.from('{"challenge":1}').toString('base64url')],
      ['client_data', Buffer.from([0xff]).toString('base64url')],
      ['authenticator_data', 'AA'],
      ['signature', 'AA'],
    ])('a malformed %s', async (name, value) => {
      const { authenticator } = await newPasskey(await signIn(node, await viewer()))
      const assertion = authenticator.assert(at(await startSigningIn()))
      const answer = await post('/console/session/passkey', { ...assertion, [name]: value })
      expect(outcome(answer)).toEqual([400, 'passkey_invalid'])
    })

    it('a response that is sent again, also at the same time', async () => {
      const { authenticator } = await newPasskey(await signIn(node, await viewer()))
      const assertion = authenticator.assert(at(await startSigningIn()))
      const answers = await Promise.all([1, 2, 3].map(() => post('/console/session/passkey', assertion)))
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 400, 400])
      expect(outcome(await post('/console/session/passkey', assertion))).toEqual([400, 'passkey_invalid'])
    })

    it('a challenge of another session, of another purpose, and one that has ended', async () => {
      const personId = await viewer()
      const [one, other] = [await signIn(node, personId), await signIn(node, personId)]
      const { authenticator } = await newPasskey(one)
      const raise = (browser: Browser, challenge: string) =>
        browser.ask('/console/session/step-up', { method: 'POST', body: authenticator.assert(at(challenge)) })
      for (const challenge of [await startStepUp(other), await startSigningIn(), await startAdding(one)])
        expect(outcome(await raise(one, challenge))).toEqual([400, 'passkey_invalid'])
      for (const challenge of [await startStepUp(one), await startAdding(one)])
        expect(outcome(await post('/console/session/passkey', authenticator.assert(at(challenge))))).toEqual([
          400,
          'passkey_invalid',
        ])
      for (const challenge of [await startAdding(other), await startSigningIn(), await startStepUp(one)]) {
        const made = new SoftwareAuthenticator(personId).create(at(challenge))
        expect(outcome(await add(one, made))).toEqual([400, 'passkey_invalid'])
      }
      const mine = await startSigningIn()
      const late = Buffer.from(mine, 'base64url')
      late.writeUIntBE(Date.now() + 60 * MINUTE, 16, 6)
      const prolonged = authenticator.assert(at(late.toString('base64url')))
      expect(outcome(await post('/console/session/passkey', prolonged))).toEqual([400, 'passkey_invalid'])
    })

    it('a passkey of another person, in the session of this one', async () => {
      const { authenticator } = await newPasskey(await signIn(node, await viewer()))
      const victim = await signIn(node, await viewer())
      await newPasskey(victim)
      const answer = await victim.ask('/console/session/step-up', {
        method: 'POST',
        body: authenticator.assert(at(await startStepUp(victim))),
      })
      expect(outcome(answer)).toEqual([400, 'passkey_invalid'])
    })

    it('a counter that does not grow or goes back: there are two of that passkey', async () => {
      const { authenticator } = await newPasskey(await signIn(node, await viewer()))
      const open = async (counter: number) =>
        outcome(
          await post(
            '/console/session/passkey',
            authenticator.assert({ ...at(await startSigningIn()), counter }),
          ),
        )
      expect(await open(7)).toEqual([201, ''])
      for (const counter of [7, 6, 0]) expect(await open(counter)).toEqual([400, 'passkey_invalid'])
      expect(await open(8)).toEqual([201, ''])
    })

    it('two nodes: a counter that another request has moved meanwhile', async () => {
      const { authenticator } = await newPasskey(await signIn(node, await viewer()))
      const assertions = await Promise.all(
        [1, 2].map(async () => authenticator.assert({ ...at(await startSigningIn()), counter: 5 })),
      )
      const answers = await Promise.all(assertions.map((body) => post('/console/session/passkey', body)))
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 400])
    })
  })

  describe('registering', () => {
    it('403 step_up_required without a recent sign-in, at both requests, with an audit row', async () => {
      const personId = await viewer()
      const browser = await signIn(node, personId)
      const made = new SoftwareAuthenticator(personId).create(at(await startAdding(browser)))
      const old = await signIn(node, personId, 6 * MINUTE)
      const start = await old.ask('/console/passkeys/challenge', { method: 'POST' })
      expect(outcome(start)).toEqual([403, 'step_up_required'])
      expect(outcome(await add(old, made))).toEqual([403, 'step_up_required'])
      await expect
        .poll(async () =>
          (await auditOf(node)).some(
            ({ target, detail }) => target === personId && detail.code === 'step_up_required',
          ),
        )
        .toBe(true)
    })

    it.each<readonly [string, Partial<Ceremony>]>([
      ['another origin', { origin: 'https://evil.example' }],
      ['another RP id', { rpId: 'evil.example' }],
      ['no user verification', { flags: 0x41 }],
      ['no key', { flags: 0x05 }],
      ['an assertion', { type: 'webauthn.get' }],
      ['a frame of another origin', { crossOrigin: true }],
      ['an algorithm that was not offered', { alg: -65535 }],
      ['an attestation with certificates', { fmt: 'packed', attStmt: certificates() }],
      ['an attestation of Apple', { fmt: 'apple', attStmt: certificates() }],
      ['an attestation of a TPM', { fmt: 'tpm', attStmt: certificates() }],
      ['an unknown attestation', { fmt: 'other' }],
      ['bytes after the data', { more: Buffer.from([0]) }],
    ])('400 passkey_invalid for %s', async (_, forged) => {
      const browser = await signIn(node, await viewer())
      const authenticator = new SoftwareAuthenticator(browser.personId)
      const made = authenticator.create({ ...at(await startAdding(browser)), ...forged })
      expect(outcome(await add(browser, made))).toEqual([400, 'passkey_invalid'])
      expect((await browser.ask('/console/passkeys')).json().items).toEqual([])
    })

    it('a registration that is sent again is not accepted, and one id belongs to one person', async () => {
      const browser = await signIn(node, await viewer())
      const authenticator = new SoftwareAuthenticator(browser.personId)
      const made = authenticator.create(at(await startAdding(browser)))
      expect(outcome(await add(browser, made))).toEqual([201, ''])
      expect(outcome(await add(browser, made))).toEqual([400, 'passkey_invalid'])
      const thief = await signIn(node, await viewer())
      const taken = authenticator.create(at(await startAdding(thief)))
      expect(outcome(await add(thief, taken))).toEqual([409, 'already_exists'])
    })

    it('422 beyond the maximum, also when several are sent at the same time', async () => {
      const browser = await signIn(node, await viewer())
      for (let i = 1; i < limits.passkeys_per_person_max; i++) await newPasskey(browser)
      const made = await Promise.all(
        [1, 2, 3].map(async () =>
          new SoftwareAuthenticator(browser.personId).create(at(await startAdding(browser))),
        ),
      )
      const answers = await Promise.all(made.map((each) => add(browser, each)))
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 422, 422])
      const start = await browser.ask('/console/passkeys/challenge', { method: 'POST' })
      expect(outcome(start)).toEqual([422, 'validation_failed'])
    })
  })

  describe('removing', () => {
    it('ends the sessions that were opened with it, and the elevation of the others', async () => {
      const first = await signIn(node, await viewer())
      const { authenticator, passkeyId } = await newPasskey(first)
      const opened = await post('/console/session/passkey', authenticator.assert(at(await startSigningIn())))
      const withPasskey = toBrowser(opened, first)
      const other = await signIn(node, first.personId)
      const challenge = await startSigningIn()
      const removed = await first.ask(`/console/passkeys/${passkeyId}`, { method: 'DELETE' })
      expect(removed.statusCode).toBe(204)
      expect(outcome(await withPasskey.ask('/console/session'))).toEqual([401, 'session_required'])
      expect((await other.ask('/console/session')).json().elevated_until).toBe(null)
      expect((await first.ask('/console/session')).json().elevated_until).not.toBe(null)
      expect(outcome(await post('/console/session/passkey', authenticator.assert(at(challenge))))).toEqual([
        400,
        'passkey_invalid',
      ])
      expect((await auditOf(node)).find(({ target }) => target === passkeyId)).toMatchObject({
        action: 'passkey.remove',
        context: { actor: `person:${first.personId}` },
      })
      expect(outcome(await first.ask(`/console/passkeys/${passkeyId}`, { method: 'DELETE' }))).toEqual([
        404,
        'not_found',
      ])
    })

    it('A304: removing one needs a recent sign-in, of the person or of an operator', async () => {
      const personId = await viewer()
      const { authenticator, passkeyId } = await newPasskey(await signIn(node, personId))
      const path = `/console/passkeys/${passkeyId}`
      const old = await signIn(node, personId, 6 * MINUTE)
      const rejected = [403, 'step_up_required']
      expect(outcome(await old.ask(path, { method: 'DELETE' }))).toEqual(rejected)
      const boss = await signIn(node, await operator(), 6 * MINUTE)
      expect(outcome(await boss.ask(`${path}?person_id=${personId}`, { method: 'DELETE' }))).toEqual(rejected)
      expect((await old.ask('/console/passkeys')).json().items).toHaveLength(1)
      const answer = await old.ask('/console/session/step-up', {
        method: 'POST',
        body: authenticator.assert(at(await startStepUp(old))),
      })
      const raised = toBrowser(answer, old)
      expect((await raised.ask(path, { method: 'DELETE' })).statusCode).toBe(204)
    })

    it('ends a session that was opened with it while it asks', async () => {
      const personId = await viewer()
      const { authenticator, passkeyId } = await newPasskey(await signIn(node, personId))
      const old = await signIn(node, personId, 6 * MINUTE)
      const opened = await post('/console/session/passkey', authenticator.assert(at(await startSigningIn())))
      const own = toBrowser(opened, old)
      expect((await own.ask(`/console/passkeys/${passkeyId}`, { method: 'DELETE' })).statusCode).toBe(204)
      expect(outcome(await own.ask('/console/session'))).toEqual([401, 'session_required'])
      expect((await old.ask('/console/session')).statusCode).toBe(200)
    })

    it('of other people: operators only; renaming: the person only', async () => {
      const owner = await signIn(node, await viewer())
      const { passkeyId } = await newPasskey(owner)
      const path = `/console/passkeys/${passkeyId}?person_id=${owner.personId}`
      const other = await signIn(node, await viewer())
      expect(outcome(await other.ask(path, { method: 'DELETE' }))).toEqual([403, 'role_insufficient'])
      expect(outcome(await other.ask(`/console/passkeys?person_id=${owner.personId}`))).toEqual([
        403,
        'role_insufficient',
      ])
      expect(outcome(await other.ask(`/console/passkeys/${passkeyId}`, { method: 'DELETE' }))).toEqual([
        404,
        'not_found',
      ])
      const rename = { method: 'PATCH', body: { name: 'Mine' } } as const
      expect(outcome(await other.ask(`/console/passkeys/${passkeyId}`, rename))).toEqual([404, 'not_found'])
      const boss = await signIn(node, await operator())
      expect(outcome(await boss.ask(`/console/passkeys/${passkeyId}`, rename))).toEqual([404, 'not_found'])
      expect((await boss.ask(`/console/passkeys?person_id=${owner.personId}`)).json().items).toHaveLength(1)
      expect((await boss.ask(path, { method: 'DELETE' })).statusCode).toBe(204)
    })

    it('a person who was ended has none, also after they are active again', async () => {
      const browser = await signIn(node, await viewer())
      const { authenticator } = await newPasskey(browser)
      const change = (status: string) =>
        node.send(`/api/people/${browser.personId}`, {
          method: 'PATCH',
          body: { status },
          headers: { 'x-api-key': node.operatorKey },
        })
      const open = async () =>
        outcome(await post('/console/session/passkey', authenticator.assert(at(await startSigningIn()))))
      await change('ended')
      expect(await open()).toEqual([400, 'passkey_invalid'])
      await change('active')
      expect(await open()).toEqual([400, 'passkey_invalid'])
    })
  })

  it('A272: a row that is put back, or changed, opens nothing; the others stay valid', async () => {
    const browser = await signIn(node, await viewer())
    const { authenticator, passkeyId } = await newPasskey(browser)
    const kept = await newPasskey(browser)
    const [row] = await writer.sql('SELECT * FROM passkeys WHERE passkey_id = $1', passkeyId)
    await browser.ask(`/console/passkeys/${passkeyId}`, { method: 'DELETE' })
    const names = Object.keys(row ?? {})
    await writer.sql(
      `INSERT INTO passkeys (${names.join(', ')}) VALUES (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
      ...(Object.values(row ?? {}) as (string | number)[]),
    )
    const open = async (one: SoftwareAuthenticator) =>
      outcome(await post('/console/session/passkey', one.assert(at(await startSigningIn()))))
    expect(await open(authenticator)).toEqual([400, 'passkey_invalid'])
    expect(await open(kept.authenticator)).toEqual([201, ''])
    expect((await browser.ask('/console/passkeys')).json().items).toHaveLength(1)
    const victim = await viewer()
    await writer.sql('UPDATE passkeys SET person_id = $1 WHERE passkey_id = $2', victim, kept.passkeyId)
    const stolen = kept.authenticator.assert({ ...at(await startSigningIn()), userHandle: victim })
    expect(outcome(await post('/console/session/passkey', stolen))).toEqual([400, 'passkey_invalid'])
    await writer.sql('DELETE FROM passkeys')
  })

  it('A213: pages of other origins get no challenge and open no session', async () => {
    const { authenticator } = await newPasskey(await signIn(node, await viewer()))
    const assertion = authenticator.assert(at(await startSigningIn()))
    for (const [path, body] of [
      ['/console/session/challenge', undefined],
      ['/console/session/passkey', assertion],
    ] as const) {
      const asked = (headers: object) => post(path, body, headers)
      expect(outcome(await asked({ 'sec-fetch-site': 'cross-site' }))).toEqual([403, 'csrf_invalid'])
      expect(outcome(await asked({ origin: 'https://evil.example' }))).toEqual([403, 'origin_forbidden'])
    }
  })

  it('404 for a step-up without a passkey, and doors say whether passkeys work', async () => {
    const browser = await signIn(node, await viewer())
    const answer = await browser.ask('/console/session/step-up/challenge', { method: 'POST' })
    expect(outcome(answer)).toEqual([404, 'not_found'])
    const doors = await node.send('/console/doors', { headers: { 'sec-fetch-site': 'same-origin' } })
    expect(doors.json()).toEqual({
      passkey: true,
      oidc: null,
      has_session: false,
      command_line: 'countersign',
    })
  })
})

forEachStoreWriter('passkeys at an address', (newWriter) => {
  const HERE = 'http://127.0.0.1:8787'

  it('409 passkey_unavailable on an IP address; the same service as localhost accepts them', async () => {
    const node = await openConsoleNode(await newWriter(), { COUNTERSIGN_BASE_URL: HERE })
    const start = (host: string) =>
      node.send('/console/session/challenge', {
        method: 'POST',
        headers: { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
      })
    const doors = async (host: string) =>
      (await node.send('/console/doors', { headers: { host, 'sec-fetch-site': 'same-origin' } })).json()
    expect(outcome(await start('127.0.0.1:8787'))).toEqual([409, 'passkey_unavailable'])
    expect((await doors('127.0.0.1:8787')).passkey).toBe(false)
    const named = await start('localhost:8787')
    expect(named.json()).toMatchObject({ rp_id: 'localhost' })
    expect((await doors('localhost:8787')).passkey).toBe(true)
    // A name that leads to this machine, as in DNS rebinding.
    expect(outcome(await start('evil.example:8787'))).toEqual([403, 'origin_forbidden'])
    await node.close()
  })
})

function certificates(): Map<string, unknown> {
  return new Map<string, unknown>([
    ['alg', -7],
    ['sig', new Uint8Array(64)],
    ['x5c', [new Uint8Array(100)]],
  ])
}
