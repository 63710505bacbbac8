import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey } from '../../src/actions/api-keys.ts'
import { forEachStoreWriter, type StoreWriter } from '../store/store-writer.ts'
import {
  addPerson,
  auditOf,
  COOKIE,
  type ConsoleNode,
  ORIGIN,
  OTHER,
  openConsoleNode,
  outcome,
  SAME_ORIGIN,
  SHOP,
  signIn,
} from './console-node.ts'

const MINUTE = 60_000
const PPID = 'did:service:ppid_4xk2p7q9d3m6w8zn'

forEachStoreWriter('sessions of the console', (newWriter) => {
  let writer: StoreWriter
  let node: ConsoleNode
  beforeAll(async () => {
    writer = await newWriter()
    node = await openConsoleNode(writer, {
      COUNTERSIGN_RATE_LIMIT_WRONG_KEY: '1000/10',
      COUNTERSIGN_RATE_LIMIT_KEYLESS: '100000/10',
    })
  })
  afterAll(() => node.close())

  const key = () => ({ 'x-api-key': node.operatorKey })
  const newLink = async (person_id: string): Promise<string> => {
    const path = `/api/people/${person_id}/links`
    const { url } = (await node.send(path, { method: 'POST', headers: key() })).json()
    expect(url).toMatch(/^https:\/\/id\.example\/console#link=[A-Za-z0-9_-]{43}$/)
    return url.split('#link=')[1]
  }
  const open = (link: string, headers: object = SAME_ORIGIN) =>
    node.send('/console/session', { method: 'POST', body: { link }, headers: { ...headers } })
  const rejections = async (code: string) =>
    (await auditOf(node)).filter(
      ({ action, detail }) => action === 'console.rejected' && detail.code === code,
    ).length
  const viewer = () => addPerson(node, [{ siteId: SHOP, role: 'viewer' }])
  const revoke = { method: 'POST', body: { ppid: PPID, site_id: SHOP } } as const

  it('A304: a page that was opened for another person does nothing in the name of this one', async () => {
    const ada = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
    const bob = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
    const named = (...people: string[]) => ({ headers: { 'countersign-person': people } })
    for (const people of [[bob.personId], [''], [ada.personId, ada.personId]]) {
      const body = { name: 'Typed by Bob', roles: [] }
      const made = await ada.ask('/console/api/people', { method: 'POST', body, ...named(...people) }, 'all')
      expect(outcome(made)).toEqual([401, 'session_required'])
      expect((await ada.ask('/console/sessions', named(...people))).statusCode).toBe(401)
    }
    expect((await ada.ask('/console/api/people', {}, 'all')).body).not.toContain('Typed by Bob')
    expect((await ada.ask('/console/sessions', named(ada.personId))).statusCode).toBe(200)
    expect((await ada.ask('/console/sessions')).statusCode).toBe(200)
  })

  it('I-19: guesses do not lock out a session that the node has not seen; few such are looked up', {
    tags: 'long',
  }, async () => {
    const guarded = await openConsoleNode(await newWriter(), {
      COUNTERSIGN_RATE_LIMIT_WRONG_KEY: '3/600',
      COUNTERSIGN_RATE_LIMIT_UNKNOWN_KEY: '2/600',
    })
    try {
      const person = await addPerson(guarded, [{ siteId: SHOP, role: 'viewer' }])
      const [first, second] = [await signIn(guarded, person), await signIn(guarded, person)]
      const guess = (secret: string) =>
        guarded.send('/console/sessions', { headers: { ...SAME_ORIGIN, cookie: `${COOKIE}=${secret}` } })
      const policy = async (secret: string) => (await guess(secret)).headers['ratelimit-policy']
      const newSecret = () => randomBytes(32).toString('base64url')
      for (let i = 0; i < 3; i++) expect((await guess(newSecret())).statusCode).toBe(401)
      expect(await policy('guessed')).toBe('"wrong_key";q=3;w=600')
      expect((await first.ask('/console/sessions')).statusCode).toBe(200)
      expect((await guess(newSecret())).statusCode).toBe(401)
      expect(await policy(newSecret())).toBe('"unknown_key";q=2;w=600')
      expect((await second.ask('/console/sessions')).statusCode).toBe(429)
      expect((await first.ask('/console/sessions')).statusCode).toBe(200)
    } finally {
      await guarded.close()
    }
  })

  it('I-19: wrong API keys and ended sessions do not keep people behind the same address from signing in', async () => {
    const limited = await openConsoleNode(await newWriter(), { COUNTERSIGN_RATE_LIMIT_WRONG_KEY: '3/600' })
    try {
      const person = await addPerson(limited, [{ siteId: SHOP, role: 'viewer' }])
      const links = { method: 'POST', headers: { 'x-api-key': limited.operatorKey } } as const
      const made = await limited.send(`/api/people/${person}/links`, links)
      const [, link] = made.json().url.split('#link=')
      for (let i = 0; i < 4; i++)
        await limited.send('/api/people', { headers: { 'x-api-key': 'svc_sk_old' } })
      for (let i = 0; i < 4; i++)
        await limited.send('/console/session', { headers: { ...SAME_ORIGIN, cookie: `${COOKIE}=ended` } })
      const wrong = await limited.send('/api/people', { headers: { 'x-api-key': 'svc_sk_old' } })
      expect(outcome(wrong)).toEqual([429, 'rate_limited'])
      const post = (path: string, body?: object) =>
        limited.send(path, { method: 'POST', headers: SAME_ORIGIN, ...(body && { body }) })
      expect((await limited.send('/console/doors', { headers: SAME_ORIGIN })).statusCode).toBe(200)
      expect((await post('/console/session/challenge')).statusCode).toBe(200)
      expect((await post('/console/session', { link })).statusCode).toBe(201)
      const guess = async () =>
        outcome(await post('/console/session', { link: randomBytes(32).toString('base64url') }))
      for (let i = 0; i < 3; i++) expect(await guess()).toEqual([400, 'link_invalid'])
      expect(await guess()).toEqual([429, 'rate_limited'])
    } finally {
      await limited.close()
    }
  })

  it('GET /console/doors knows whether the browser has a cookie, and asks the store nothing', async () => {
    const { cookie } = await signIn(node, await viewer())
    const hasSession = async (more: object) =>
      (await node.send('/console/doors', { headers: { ...SAME_ORIGIN, ...more } })).json().has_session
    expect(await hasSession({})).toBe(false)
    expect(await hasSession({ cookie })).toBe(true)
    expect(await hasSession({ cookie: `${COOKIE}=guessed` })).toBe(true)
  })

  it('A301: no page of the console is answered to an API key or a credential, with or without a cookie', async () => {
    const { cookie } = await signIn(node, await viewer())
    for (const path of ['/console/doors', '/console/session'])
      for (const other of [key(), { authorization: 'Bearer x' }, { 'x-service-credential': 'e30' }])
        for (const own of [{}, { cookie }]) {
          const answer = await node.send(path, { headers: { ...SAME_ORIGIN, ...own, ...other } })
          expect(outcome(answer)).toEqual([400, 'auth_ambiguous'])
        }
  })

  it('GET /console/people has the names of operators and of people at the own sites, and no more', async () => {
    const [operator, here, there, nowhere] = [
      await addPerson(node, [{ siteId: null, role: 'operator' }]),
      await addPerson(node, [{ siteId: SHOP, role: 'responder' }]),
      await addPerson(node, [{ siteId: OTHER, role: 'admin' }]),
      await addPerson(node, []),
    ]
    const seen = async (personId: string) => {
      const { ask } = await signIn(node, personId)
      const found: { person_id: string; name: string }[] = []
      for (let next = ''; ; ) {
        const { items, next_cursor } = (await ask(`/console/people?limit=2${next}`)).json()
        found.push(...items)
        if (next_cursor === null) break
        next = `&cursor=${next_cursor}`
      }
      expect(found[0]).toEqual({ person_id: expect.any(String), name: 'Ada' })
      const ids = found.map(({ person_id }) => person_id)
      return [operator, here, there, nowhere].map((each) => ids.includes(each))
    }
    expect(await seen(operator)).toEqual([true, true, true, true])
    expect(await seen(here)).toEqual([true, true, false, false])
    expect(await seen(there)).toEqual([true, false, true, false])
    expect(await seen(nowhere)).toEqual([true, false, false, false])
    const without = await node.send('/console/people', { headers: SAME_ORIGIN })
    expect(outcome(without)).toEqual([401, 'session_required'])
  })

  describe('POST /console/session', () => {
    it('A216: sets a cookie that no other host, script or page can use, and a new one each time', async () => {
      const personId = await viewer()
      const answer = await open(await newLink(personId))
      expect(answer.statusCode).toBe(201)
      const [, secret = ''] =
        /^__Host-countersign-console=([A-Za-z0-9_-]{43}); Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/.exec(
          String(answer.headers['set-cookie']),
        ) ?? []
      expect(secret).not.toBe('')
      expect(answer.json()).toMatchObject({
        person_id: personId,
        name: 'Ada',
        roles: [{ site_id: SHOP, role: 'viewer' }],
        sites: [SHOP],
        door: 'link',
        elevated_until: expect.any(String),
      })
      const cookie = `${COOKIE}=${secret}`
      const read = await node.send('/console/session', { headers: { ...SAME_ORIGIN, cookie } })
      expect(read.json()).toMatchObject({ session_id: answer.json().session_id })
      // Signing in again, as for a step up, replaces the session of this browser.
      const link = await newLink(personId)
      const again = await open(link, { ...SAME_ORIGIN, cookie })
      expect(again.json().session_id).not.toBe(answer.json().session_id)
      expect(String(again.headers['set-cookie'])).not.toContain(secret)
      const gone = await node.send('/console/session', { headers: { ...SAME_ORIGIN, cookie } })
      expect(outcome(gone)).toEqual([401, 'session_required'])
      expect(node.logged.join('')).not.toContain(secret)
      expect(node.logged.join('')).not.toContain(link)
      const rows = await auditOf(node)
      expect(rows.find(({ target }) => target === again.json().session_id)).toMatchObject({
        action: 'session.open',
        context: { actor: `person:${personId}` },
      })
    })

    it('A216: ignores a session that an attacker has planted: the link gives a session of its own', async () => {
      const attacker = await signIn(node, await viewer())
      const answer = await open(await newLink(await viewer()), { ...SAME_ORIGIN, cookie: attacker.cookie })
      expect(answer.json().session_id).not.toBe(attacker.sessionId)
      expect(outcome(await attacker.ask('/console/session'))).toEqual([401, 'session_required'])
    })

    it('400 link_invalid, always the same: used, unknown, malformed, replaced, of a person who was ended', async () => {
      const personId = await viewer()
      const [replaced, used] = [await newLink(personId), await newLink(personId)]
      await open(used)
      const ended = await viewer()
      const ofEnded = await newLink(ended)
      const path = `/api/people/${ended}`
      await node.send(path, { method: 'PATCH', body: { status: 'ended' }, headers: key() })
      const unknown = randomBytes(32).toString('base64url')
      const answers = []
      for (const link of [used, replaced, ofEnded, unknown]) {
        const { instance: _, request_id: _id, ...body } = (await open(link)).json()
        answers.push(JSON.stringify(body))
      }
      expect(new Set(answers).size).toBe(1)
      expect(answers[0]).toContain('"code":"link_invalid"')
      for (const link of ['', 'x', `${unknown}x`])
        expect(outcome(await open(link))).toEqual([400, 'link_invalid'])
      await expect.poll(() => rejections('link_invalid')).toBeGreaterThan(3)
    })

    it('A213: a link does not open a session from a page of another origin (login CSRF), and stays valid', async () => {
      const link = await newLink(await viewer())
      for (const [headers, code] of [
        [{}, 'csrf_invalid'],
        [{ 'sec-fetch-site': 'cross-site', origin: ORIGIN }, 'csrf_invalid'],
        [{ 'sec-fetch-site': 'same-site' }, 'csrf_invalid'],
        [{ origin: 'https://evil.example' }, 'origin_forbidden'],
        [{ origin: 'null' }, 'origin_forbidden'],
      ] as const)
        expect(outcome(await open(link, headers))).toEqual([403, code])
      expect((await open(link)).statusCode).toBe(201)
    })

    it('A213: a page of another origin does not use up the attempts of its visitor', {
      tags: 'long',
    }, async () => {
      const headers = { 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' }
      for (let i = 0; i < 1010; i++)
        await node.send('/console/session', { method: 'POST', body: { link: 'x' }, headers })
      expect((await open(await newLink(await viewer()))).statusCode).toBe(201)
    })
  })

  describe('/console/api', () => {
    it('an operator who names a site acts at that site only, and names all for the whole service', async () => {
      const { ask } = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
      const user = { ppid: PPID, site_id: OTHER }
      const revoke = (named: string) =>
        ask('/console/api/wallet/revoke-user', {
          method: 'POST',
          body: user,
          headers: { 'countersign-console': named },
        })
      expect(outcome(await revoke(SHOP))).toEqual([403, 'role_insufficient'])
      expect((await revoke(OTHER)).statusCode).toBe(200)
      const people = (named: string) =>
        ask('/console/api/people', { headers: { 'countersign-console': named } })
      expect(outcome(await people(SHOP))).toEqual([403, 'role_insufficient'])
      expect((await people('all')).statusCode).toBe(200)
    })

    it('A213, A218: rejects what does not come from its own page, with an audit row for changes', async () => {
      const { ask } = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
      const cases = [
        [{ 'sec-fetch-site': 'cross-site' }, 'csrf_invalid'],
        [{ 'sec-fetch-site': 'same-site' }, 'csrf_invalid'],
        [{ 'sec-fetch-site': 'none' }, 'csrf_invalid'],
        [{ 'sec-fetch-site': ['same-origin', 'same-origin'] }, 'csrf_invalid'],
        [{ 'sec-fetch-site': undefined, origin: undefined }, 'csrf_invalid'],
        [{ origin: 'https://evil.example' }, 'origin_forbidden'],
        [{ origin: 'null' }, 'origin_forbidden'],
        [{ origin: 'http://id.example:443' }, 'origin_forbidden'],
        [{ origin: `${ORIGIN}.evil.example` }, 'origin_forbidden'],
        [{ origin: ORIGIN, 'countersign-console': undefined }, 'csrf_invalid'],
        [{ 'countersign-console': ['all', 'all'] }, 'csrf_invalid'],
        [{ 'countersign-console': 'ALL' }, 'csrf_invalid'],
        [{ 'countersign-console': '' }, 'csrf_invalid'],
      ] as const
      for (const [headers, code] of cases) {
        const given = headers as Record<string, string>
        const change = await ask('/console/api/wallet/revoke-user', { ...revoke, headers: given })
        expect([headers, ...outcome(change)]).toEqual([headers, 403, code])
        expect(outcome(await ask('/console/api/sites', { headers: given }))).toEqual([403, code])
      }
      // An older browser sends no Sec-Fetch-Site.
      expect(outcome(await ask('/console/api/sites', { headers: { 'sec-fetch-site': undefined } }))).toEqual([
        200,
        '',
      ])
      expect(outcome(await ask('/console/api/sites', { headers: { origin: undefined } }))).toEqual([200, ''])
      await expect.poll(() => rejections('csrf_invalid')).toBeGreaterThan(0)
      await expect.poll(() => rejections('origin_forbidden')).toBeGreaterThan(0)
    })

    it('A213: a form cannot send the header, and its content types are not accepted', async () => {
      const { ask } = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
        expect(
          outcome(
            await ask('/console/api/wallet/revoke-user', { ...revoke, headers: { 'content-type': type } }),
          ),
        ).toEqual([415, 'unsupported_media_type'])
    })

    it('A218: answers no preflight request with permission', async () => {
      for (const path of ['/console/session', '/console/api/sites', '/console/api/wallet/revoke-user']) {
        const answer = await node.send(path, {
          method: 'OPTIONS',
          headers: {
            origin: 'https://evil.example',
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'countersign-console',
          },
        })
        expect(answer.statusCode).toBe(405)
        expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    })

    it('401 without a session; a cookie that is repeated, malformed or of another name is none', async () => {
      const { ask, cookie } = await signIn(node, await viewer())
      for (const given of [
        undefined,
        '',
        `${cookie}; ${cookie}`,
        `${cookie}; ${COOKIE}=${randomBytes(32).toString('base64url')}`,
        `${COOKIE}=${randomBytes(32).toString('base64url')}`,
        `${cookie}x`,
        cookie.replace('__Host-', ''),
        cookie.replace('__Host-', '__host-'),
      ]) {
        const answer = await ask('/console/api/sites', { headers: { cookie: given } })
        expect([given, ...outcome(answer)]).toEqual([given, 401, 'session_required'])
        expect(answer.headers['www-authenticate']).toMatch(/^Session /)
      }
      expect(outcome(await ask('/console/api/sites', { headers: { cookie: `a=b; ${cookie}` } }))).toEqual([
        200,
        '',
      ])
    })

    it('auth_ambiguous: an API key or a credential is not accepted beside or instead of it', async () => {
      const { ask, cookie } = await signIn(node, await viewer())
      for (const headers of [key(), { 'x-service-credential': 'x' }, { authorization: 'Bearer svc_at_x' }])
        for (const given of [cookie, undefined]) {
          const answer = await ask('/console/api/sites', { headers: { ...headers, cookie: given } })
          expect(answer.json().code).toBe('auth_ambiguous')
        }
    })

    it('the cookie means nothing at /api: the same answer as without it', async () => {
      const { cookie } = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
      const headers = { ...SAME_ORIGIN, 'countersign-console': 'all' }
      for (const sent of [
        { path: '/api/sites' },
        { path: '/api/people' },
        { path: '/api/wallet/revoke-user', ...revoke },
      ]) {
        const [without, withIt] = [
          await node.send(sent.path, { ...sent, headers }),
          await node.send(sent.path, { ...sent, headers: { ...headers, cookie } }),
        ]
        expect(outcome(without)).toEqual([401, 'api_key_missing'])
        expect(outcome(withIt)).toEqual(outcome(without))
      }
    })

    it('has no acknowledgements and no introspection: those are for verifiers', async () => {
      const { ask } = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
      expect(
        (await ask(`/console/api/sites/${SHOP}/feed/ack`, { method: 'POST', body: {} })).statusCode,
      ).toBe(404)
      expect((await ask('/console/api/auth/introspect', { method: 'POST', body: {} })).statusCode).toBe(404)
    })

    it('writes the person to the audit', async () => {
      const { ask, personId } = await signIn(
        node,
        await addPerson(node, [{ siteId: SHOP, role: 'responder' }]),
      )
      const answer = await ask('/console/api/wallet/revoke-user', revoke)
      expect(answer.statusCode).toBe(200)
      const { items } = (await node.send(`/api/sites/${SHOP}/audit`, { headers: key() })).json()
      expect(items[0]).toMatchObject({ action: 'user.revoke', actor: { type: 'person', id: personId } })
      expect(node.logged.at(-2)).toContain(`"person_id":"${personId}"`)
    })

    it('replays an Idempotency-Key to the same person only', async () => {
      const roles = [{ siteId: SHOP, role: 'admin' as const }]
      const [one, two] = [
        await signIn(node, await addPerson(node, roles)),
        await signIn(node, await addPerson(node, roles)),
      ]
      const sent = (label: string) => ({
        method: 'POST' as const,
        body: { permissions: ['site:read'], label },
        headers: { 'idempotency-key': 'the-same' },
      })
      const path = `/console/api/sites/${SHOP}/keys`
      expect((await one.ask(path, sent('one'))).statusCode).toBe(201)
      expect(outcome(await one.ask(path, sent('one')))).toEqual([409, 'idempotency_conflict'])
      expect((await two.ask(path, sent('two'))).statusCode).toBe(201)
      expect(
        (
          await node.send(path.replace('/console', ''), {
            ...sent('key'),
            headers: { ...sent('').headers, ...key() },
          })
        ).statusCode,
      ).toBe(201)
    })
  })

  describe('the end of a session', () => {
    it('comes after 30 minutes without use, and after 12 hours', async () => {
      const personId = await viewer()
      expect(outcome(await (await signIn(node, personId, 29 * MINUTE)).ask('/console/session'))).toEqual([
        200,
        '',
      ])
      for (const age of [30 * MINUTE, 12 * 60 * MINUTE])
        expect(outcome(await (await signIn(node, personId, age)).ask('/console/session'))).toEqual([
          401,
          'session_required',
        ])
    })

    it('is moved by use', async () => {
      const { store, clock } = node.service.deps
      const { ask, personId } = await signIn(node, await viewer(), 29 * MINUTE)
      await ask('/console/session')
      const seen = async () =>
        (await store.consoleSessions(personId, { after: undefined, limit: 1 }))[0]?.seenAtMs ?? 0
      await expect.poll(async () => clock.nowMs() - (await seen())).toBeLessThan(MINUTE)
    })

    it('is not moved by what an open page loads by itself', async () => {
      const { store, clock } = node.service.deps
      const { ask, personId } = await signIn(node, await viewer(), 29 * MINUTE)
      const headers = { 'countersign-background': '1' }
      expect((await ask('/console/session', { headers })).statusCode).toBe(200)
      await node.service.deps.consoleSessions.close()
      const [session] = await store.consoleSessions(personId, { after: undefined, limit: 1 })
      expect(clock.nowMs() - (session?.seenAtMs ?? 0)).toBeGreaterThan(28 * MINUTE)
    })

    it('comes with sign-out, which deletes the cookie', async () => {
      const { ask } = await signIn(node, await viewer())
      const answer = await ask('/console/session', { method: 'DELETE' })
      expect(answer.statusCode).toBe(204)
      expect(answer.headers['set-cookie']).toMatch(/^__Host-countersign-console=; Path=\/; Max-Age=0; /)
      expect(outcome(await ask('/console/session'))).toEqual([401, 'session_required'])
    })

    it('comes at once when the person is ended, and roles change at once', async () => {
      const { ask, personId } = await signIn(node, await viewer())
      const path = `/console/api/sites/${SHOP}`
      expect(outcome(await ask(path))).toEqual([200, ''])
      const change = (body: object) =>
        node.send(`/api/people/${personId}`, { method: 'PATCH', body, headers: key() })
      await change({ roles: [{ site_id: OTHER, role: 'viewer' }] })
      expect(outcome(await ask(path))).toEqual([403, 'role_insufficient'])
      expect(outcome(await ask(`/console/api/sites/${OTHER}`, {}, OTHER))).toEqual([200, ''])
      await change({ status: 'ended' })
      expect(outcome(await ask(`/console/api/sites/${OTHER}`, {}, OTHER))).toEqual([401, 'session_required'])
    })

    it('A349: a row that is put back after the person was ended and is active again opens nothing', async () => {
      const { cookie, personId } = await signIn(node, await viewer())
      const ask = async (asked: string) =>
        outcome(await node.send('/console/session', { headers: { ...SAME_ORIGIN, cookie: asked } }))
      const change = (status: string) =>
        node.send(`/api/people/${personId}`, { method: 'PATCH', body: { status }, headers: key() })
      const find = () => writer.sql('SELECT * FROM console_sessions WHERE person_id = $1', personId)
      const putBack = async (row: object) => {
        const names = Object.keys(row)
        await writer.sql(
          `INSERT INTO console_sessions (${names.join(', ')}) VALUES (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
          ...(Object.values(row) as (string | number)[]),
        )
      }
      const [copy] = await find()
      // Control: the copy is a valid row, as long as the person was not ended.
      await writer.sql('DELETE FROM console_sessions WHERE person_id = $1', personId)
      await putBack(copy ?? {})
      expect(await ask(cookie)).toEqual([200, ''])
      await change('ended')
      expect(await find()).toEqual([])
      await change('active')
      await putBack(copy ?? {})
      expect(await ask(cookie)).toEqual([401, 'session_required'])
      // Neither a copy of the person from before the end, nor a later time in the session helps.
      await writer.sql('UPDATE people SET ended_at = NULL WHERE person_id = $1', personId)
      expect(await ask(cookie)).toEqual([401, 'session_required'])
    })

    it('of a person who is active again comes only with the next end', async () => {
      const personId = await viewer()
      const change = (status: string) =>
        node.send(`/api/people/${personId}`, { method: 'PATCH', body: { status }, headers: key() })
      await change('ended')
      await change('active')
      // A moment later, also on a fast machine.
      const { ask } = await signIn(node, personId, -10)
      expect(outcome(await ask('/console/session'))).toEqual([200, ''])
      await change('ended')
      expect(outcome(await ask('/console/session'))).toEqual([401, 'session_required'])
    })

    it('comes on another node within two seconds', { tags: 'long' }, async () => {
      if (writer.place.kind === 'sqlite') return
      const second = await openConsoleNode(writer)
      try {
        const personId = await viewer()
        const { cookie } = await signIn(node, personId)
        const headers = { ...SAME_ORIGIN, cookie, 'countersign-console': SHOP }
        // When the last request that was accepted was sent: the machine may have much else to do.
        let acceptedMs = 0
        const ask = async () => {
          const askedMs = performance.now()
          const answer = outcome(await second.send('/console/api/sites', { headers }))
          if (answer[0] === 200) acceptedMs = askedMs
          return answer
        }
        expect(await ask()).toEqual([200, ''])
        await node.send(`/api/people/${personId}`, {
          method: 'PATCH',
          body: { status: 'ended' },
          headers: key(),
        })
        const endedMs = performance.now()
        await expect.poll(ask, { interval: 20 }).toEqual([401, 'session_required'])
        expect(acceptedMs - endedMs).toBeLessThan(2000)
      } finally {
        await second.close()
      }
    })
  })

  describe('/console/sessions', () => {
    it('lists and ends the own sessions', async () => {
      const personId = await viewer()
      const [old, current] = [await signIn(node, personId, MINUTE), await signIn(node, personId)]
      const { items } = (await current.ask('/console/sessions')).json()
      expect(
        items.map((row: { session_id: string; current: boolean }) => [row.session_id, row.current]),
      ).toEqual([
        [old.sessionId, false],
        [current.sessionId, true],
      ])
      const end = () => current.ask(`/console/sessions/${old.sessionId}`, { method: 'DELETE' })
      expect((await end()).statusCode).toBe(204)
      expect(outcome(await old.ask('/console/session'))).toEqual([401, 'session_required'])
      expect(outcome(await end())).toEqual([404, 'not_found'])
    })

    it('those of others are for operators', async () => {
      const victim = await signIn(node, await viewer())
      const attacker = await signIn(node, await addPerson(node, [{ siteId: SHOP, role: 'admin' }]))
      const query = `?person_id=${victim.personId}`
      expect(outcome(await attacker.ask(`/console/sessions${query}`))).toEqual([403, 'role_insufficient'])
      const path = `/console/sessions/${victim.sessionId}`
      expect(outcome(await attacker.ask(path, { method: 'DELETE' }))).toEqual([404, 'not_found'])
      expect(outcome(await attacker.ask(path + query, { method: 'DELETE' }))).toEqual([
        403,
        'role_insufficient',
      ])
      expect(outcome(await victim.ask('/console/session'))).toEqual([200, ''])
      const operator = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
      expect((await operator.ask(`/console/sessions${query}`)).json().items).toHaveLength(1)
      expect((await operator.ask(path + query, { method: 'DELETE' })).statusCode).toBe(204)
      expect(outcome(await victim.ask('/console/session'))).toEqual([401, 'session_required'])
    })

    it('A304: ending those of others needs a recent sign-in, and ending the own does not', async () => {
      const victim = await signIn(node, await viewer())
      const path = `/console/sessions/${victim.sessionId}?person_id=${victim.personId}`
      const stolen = await signIn(
        node,
        await addPerson(node, [{ siteId: null, role: 'operator' }]),
        6 * MINUTE,
      )
      expect(outcome(await stolen.ask(path, { method: 'DELETE' }))).toEqual([403, 'step_up_required'])
      expect(outcome(await victim.ask('/console/session'))).toEqual([200, ''])
      const owner = await signIn(node, stolen.personId, 7 * MINUTE)
      const own = `/console/sessions/${stolen.sessionId}?person_id=${stolen.personId}`
      expect((await owner.ask(own, { method: 'DELETE' })).statusCode).toBe(204)
    })
  })

  it('an API key of a site cannot create people or links', async () => {
    const { deps } = node.service
    const context = { actor: 'operator', atMs: deps.clock.nowMs(), requestId: undefined }
    const order = {
      siteId: SHOP,
      permissions: ['site:admin'] as const,
      label: undefined,
      expiresInSeconds: undefined,
    }
    const { secret } = await createApiKey(deps, order, context)
    const path = `/api/people/${await viewer()}/links`
    expect(outcome(await node.send(path, { method: 'POST', headers: { 'x-api-key': secret } }))).toEqual([
      403,
      'api_key_forbidden',
    ])
  })

  it('limits requests that do not come from its page by their address, and no person behind it', {
    tags: 'long',
  }, async () => {
    const other = await openConsoleNode(await newWriter(), { COUNTERSIGN_RATE_LIMIT_KEYLESS: '6/1000' })
    try {
      const { ask } = await signIn(other, await addPerson(other, [{ siteId: null, role: 'operator' }]))
      const send = (headers: Record<string, string>, path = '/console/api/sites') =>
        other.send(path, { headers })
      for (const headers of [{}, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
        expect((await send(headers as Record<string, string>)).statusCode).toBe(403)
      expect(outcome(await send({}, '/console/session'))).toEqual([403, 'csrf_invalid'])
      for (const headers of [{}, { 'x-api-key': 'x' }])
        expect((await send(headers as Record<string, string>)).statusCode).toBe(403)
      expect(outcome(await send({}))).toEqual([429, 'rate_limited'])
      expect(outcome(await send({}, '/console/session'))).toEqual([429, 'rate_limited'])
      expect(outcome(await ask('/console/api/sites', {}, 'all'))).toEqual([200, ''])
      // A213: nor may another page keep a person behind this address from signing in.
      expect(outcome(await send(SAME_ORIGIN, '/console/session'))).toEqual([401, 'session_required'])
      for (let i = 0; i < 5; i++)
        expect(outcome(await send({ ...SAME_ORIGIN, 'x-api-key': 'x' }))).toEqual([400, 'auth_ambiguous'])
      expect(outcome(await send({ ...SAME_ORIGIN, 'x-api-key': 'x' }))).toEqual([429, 'rate_limited'])
    } finally {
      await other.close()
    }
  })

  it('is not there when it is switched off', { tags: 'long' }, async () => {
    const other = await openConsoleNode(await newWriter(), { COUNTERSIGN_CONSOLE: 'off' })
    try {
      const { ask } = await signIn(other, await addPerson(other, [{ siteId: null, role: 'operator' }]))
      for (const path of ['/console/session', '/console/sessions', '/console/api/sites', '/console'])
        expect((await ask(path)).statusCode).toBe(404)
    } finally {
      await other.close()
    }
  })
})
