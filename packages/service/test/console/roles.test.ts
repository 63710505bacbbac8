import { type ConsoleRole, endpointList, isConsoleEndpoint, stepUp } from '@countersign/core/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forEachStoreWriter } from '../store/store-writer.ts'
import {
  addPerson,
  auditOf,
  type Browser,
  type ConsoleNode,
  OTHER,
  openConsoleNode,
  outcome,
  SHOP,
  signIn,
} from './console-node.ts'

const MINUTE = 60_000
const mounted = endpointList.filter(({ id }) => isConsoleEndpoint(id))
const pathOf = (path: string, site: string = SHOP) =>
  `/console${path}`.replaceAll(/\{(\w+)\}/g, (_, name) =>
    name === 'site_id' ? site : name === 'issuer' ? 'did%3Aweb%3Aa.example' : 'x',
  )
const PPID = 'did:service:ppid_4xk2p7q9d3m6w8zn'

/** What each role may call, beyond what only reads. Everything else is rejected. */
const CHANGES: Readonly<Record<Exclude<ConsoleRole, 'admin' | 'operator'>, readonly string[]>> = {
  viewer: [],
  responder: [
    'revoke_user',
    'revoke_credential',
    'revoke_token_by_id',
    'sign_out_user',
    'revoke_targets',
    'revoke_holder',
    'cut_off_issuer',
    'start_drill',
  ],
  issuing: ['issue_credential', 'create_offer'],
}

forEachStoreWriter('roles in the console', (newWriter) => {
  let node: ConsoleNode
  beforeAll(async () => {
    node = await openConsoleNode(await newWriter())
  })
  afterAll(() => node.close())
  const as = async (role: ConsoleRole, ageMs = 0): Promise<Browser> =>
    signIn(node, await addPerson(node, [{ siteId: role === 'operator' ? null : SHOP, role }]), ageMs)
  const call = ({ ask }: Browser, { method, path, request }: (typeof mounted)[number], role?: string) =>
    ask(pathOf(path), { method, ...(request.body && { body: {} }) }, role)

  it.each(['viewer', 'responder', 'issuing'] as const)(
    '%s may read, and do what the role is for, and nothing else',
    async (role) => {
      const browser = await as(role)
      const allowed: string[] = []
      for (const endpoint of mounted) {
        const answer = await call(browser, endpoint)
        const [status, code] = outcome(answer)
        if (code !== 'role_insufficient') allowed.push(endpoint.id)
        expect([endpoint.id, status === 401 || status === 500]).toEqual([endpoint.id, false])
      }
      const changes = allowed.filter((id) => mounted.some((each) => each.id === id && each.method !== 'GET'))
      // These change nothing; they are POST because their bodies name people or acts.
      const isReading = (id: string) => id === 'resolve_user' || id === 'preview'
      expect(changes.filter((id) => !isReading(id)).sort()).toEqual([...CHANGES[role]].sort())
    },
  )

  it('admin may do everything at the site, and nothing for operators', async () => {
    const browser = await as('admin')
    for (const endpoint of mounted) {
      const [, code] = outcome(await call(browser, endpoint))
      expect([endpoint.id, code === 'role_insufficient']).toEqual([
        endpoint.id,
        endpoint.auth === 'operator_key',
      ])
    }
  })

  it('operator may do everything', async () => {
    const browser = await as('operator')
    for (const endpoint of mounted) {
      if (endpoint.id === 'cut_off_site') continue
      // What is about the whole service is not done in the name of a site.
      for (const role of endpoint.auth === 'operator_key' ? ['all'] : ['all', SHOP]) {
        const [status, code] = outcome(await call(browser, endpoint, role))
        expect([endpoint.id, status, /insufficient|required$|session|csrf/.test(String(code))]).toEqual([
          endpoint.id,
          status,
          false,
        ])
      }
    }
  })

  it('a role at one site is none at another, and “all” is for operators', async () => {
    for (const role of ['viewer', 'admin'] as const) {
      const { ask } = await as(role)
      expect(outcome(await ask(pathOf('/api/sites/{site_id}', OTHER)))).toEqual([404, 'not_found'])
      expect(outcome(await ask(pathOf('/api/sites/{site_id}', OTHER), {}, OTHER))).toEqual([
        403,
        'role_insufficient',
      ])
      expect(outcome(await ask(pathOf('/api/sites/{site_id}'), {}, 'all'))).toEqual([
        403,
        'role_insufficient',
      ])
      // As for a site that does not exist.
      expect(outcome(await ask(pathOf('/api/sites/{site_id}'), {}, 'none.example'))).toEqual([
        403,
        'role_insufficient',
      ])
      expect(
        (await ask('/console/api/sites')).json().items.map((row: { site_id: string }) => row.site_id),
      ).toEqual([SHOP])
    }
    const responder = await as('responder')
    const body = { ppid: PPID, site_id: OTHER }
    expect(
      (await responder.ask('/console/api/wallet/revoke-user', { method: 'POST', body })).statusCode,
    ).toBe(403)
  })

  it('A366: every attempt beyond a role is in the audit with the person, whichever check rejects it', async () => {
    const victim = await as('viewer')
    const { ask, personId } = await as('admin')
    const rejected = async () => {
      const rows = [...(await auditOf(node)), ...(await auditOf(node, SHOP))]
      const own = rows.filter(({ context }) => context.actor === `person:${personId}`)
      return own
        .flatMap(({ action, detail }) => (action === 'console.rejected' ? [detail.endpoint] : []))
        .sort()
    }
    const of = `person_id=${victim.personId}`
    const body = { ppid: PPID, site_id: OTHER }
    const attempts = [
      ['list_sessions', `/console/sessions?${of}`, {}, 403],
      ['end_listed_session', `/console/sessions/${victim.sessionId}?${of}`, { method: 'DELETE' }, 403],
      ['list_passkeys', `/console/passkeys?${of}`, {}, 403],
      ['remove_passkey', `/console/passkeys/passkey_x?${of}`, { method: 'DELETE' }, 403],
      ['revoke_user', '/console/api/wallet/revoke-user', { method: 'POST', body }, 403],
      ['list_keys', `/console/api/sites/${OTHER}/keys`, {}, 404],
      ['list_people', '/console/api/people', {}, 403],
    ] as const
    for (const [, path, sent, status] of attempts)
      expect([path, (await ask(path, sent)).statusCode]).toEqual([path, status])
    await expect.poll(rejected).toEqual(attempts.map(([id]) => id).sort())
    // Control arms: what is allowed, or is not there, is not among them.
    expect((await ask('/console/sessions')).statusCode).toBe(200)
    expect((await ask(`/console/api/sites/${SHOP}/users/none`)).statusCode).toBeGreaterThan(399)
    const operator = await as('operator')
    expect((await operator.ask(`/console/sessions?${of}`)).statusCode).toBe(200)
    expect((await victim.ask('/console/session')).statusCode).toBe(200)
    expect(await rejected()).toHaveLength(attempts.length)
  })

  it('an operator who names a site acts at that site', async () => {
    const { ask } = await as('operator')
    expect(outcome(await ask(pathOf('/api/sites/{site_id}', OTHER), {}, SHOP))).toEqual([404, 'not_found'])
    expect(outcome(await ask(pathOf('/api/sites/{site_id}', OTHER), {}, 'all'))).toEqual([200, ''])
  })

  it('a page of another origin can call no endpoint of the console, not even in the browser of an operator', async () => {
    const { ask } = await as('operator')
    const ofSessions = endpointList.filter(
      // This node has no demo verifiers.
      ({ auth, id }) => (auth === 'session' || auth === 'console') && id !== 'start_demo_verifier',
    )
    const all = [
      ...mounted.map((each) => ({ ...each, at: pathOf(each.path) })),
      ...ofSessions.map((each) => ({ ...each, at: each.path.replaceAll(/\{\w+\}/g, 'x') })),
    ]
    expect(all.length).toBeGreaterThan(60)
    for (const { id, method, request, at } of all) {
      const sent = { method, ...(request.body && { body: {} }), headers: { 'sec-fetch-site': 'cross-site' } }
      expect([id, ...outcome(await ask(at, sent, 'all'))]).toEqual([id, 403, 'csrf_invalid'])
    }
  })

  describe('step-up', () => {
    it('is needed exactly where the contract says, five minutes after the sign-in', async () => {
      const late = await as('operator', 6 * MINUTE)
      for (const endpoint of mounted) {
        if (!isConsoleEndpoint(endpoint.id)) continue
        const [, code] = outcome(await call(late, endpoint, 'all'))
        expect([endpoint.id, code === 'step_up_required']).toEqual([endpoint.id, stepUp[endpoint.id]])
      }
    })

    it('is never needed to revoke one user, credential or token, or to sign a user out', async () => {
      const { ask } = await as('responder', 20 * MINUTE)
      const post = (path: string, body: object) => ask(path, { method: 'POST', body })
      const site_id = SHOP
      expect((await post('/console/api/wallet/revoke-user', { ppid: PPID, site_id })).statusCode).toBe(200)
      expect(
        (await post('/console/api/wallet/revoke', { credential_id: 'cred_01k9x3v0h2', site_id })).statusCode,
      ).toBe(200)
      expect((await post('/console/api/wallet/sign-out-user', { ppid: PPID, site_id })).statusCode).toBe(200)
      expect((await post(`/console/api/sites/${SHOP}/tokens/tok_none/revoke`, {})).statusCode).toBe(200)
    })

    it('is for every change that is not such a revocation', () => {
      const free = mounted.filter(
        ({ id, method }) => isConsoleEndpoint(id) && method !== 'GET' && !stepUp[id],
      )
      expect(free.map(({ id }) => id).sort()).toEqual([
        'preview',
        'replay_delivery',
        'resolve_user',
        'revoke_credential',
        'revoke_holder',
        'revoke_token_by_id',
        'revoke_user',
        'sign_out_user',
        'test_webhook',
      ])
      for (const { id, method } of mounted)
        if (method === 'GET') expect([id, isConsoleEndpoint(id) && stepUp[id]]).toEqual([id, false])
    })

    it('comes with a new sign-in', async () => {
      const personId = await addPerson(node, [{ siteId: SHOP, role: 'admin' }])
      const sent = { method: 'POST', body: { permissions: ['site:read'] } } as const
      const path = `/console/api/sites/${SHOP}/keys`
      expect(outcome(await (await signIn(node, personId, 5 * MINUTE)).ask(path, sent))).toEqual([
        403,
        'step_up_required',
      ])
      expect(outcome(await (await signIn(node, personId)).ask(path, sent))).toEqual([201, ''])
    })
  })

  it('people cannot end, demote or prolong themselves; others can', async () => {
    const [one, two] = [await as('operator'), await as('operator')]
    const path = `/console/api/people/${one.personId}`
    for (const body of [{ status: 'ended' }, { roles: [] }, { status: 'active' }])
      expect(outcome(await one.ask(path, { method: 'PATCH', body }, 'all'))).toEqual([409, 'own_access'])
    expect(outcome(await one.ask(`${path}/links`, { method: 'POST' }, 'all'))).toEqual([409, 'own_access'])
    expect(outcome(await one.ask(path, { method: 'PATCH', body: { name: 'Grace' } }, 'all'))).toEqual([
      200,
      '',
    ])
    expect(outcome(await two.ask(path, { method: 'PATCH', body: { status: 'ended' } }, 'all'))).toEqual([
      200,
      '',
    ])
    expect(outcome(await one.ask('/console/session'))).toEqual([401, 'session_required'])
  })

  it('A374: of two operators who end each other at the same time, one stays', async () => {
    const [one, two] = [await as('operator'), await as('operator')]
    const { store } = node.service.deps
    const { changePerson } = store
    const both = Promise.withResolvers<void>()
    let begun = 0
    // Both requests are accepted before one of them changes anything.
    const held: typeof changePerson = async (...order) => {
      if (++begun === 2) both.resolve()
      await both.promise
      return changePerson(...order)
    }
    Object.assign(store, { changePerson: held })
    const end = ({ ask }: Browser, { personId }: Browser) =>
      ask(`/console/api/people/${personId}`, { method: 'PATCH', body: { status: 'ended' } }, 'all')
    try {
      const answers = await Promise.all([end(one, two), end(two, one)])
      expect(answers.map(outcome).sort()).toEqual([
        [200, ''],
        [403, 'role_insufficient'],
      ])
    } finally {
      Object.assign(store, { changePerson })
    }
    const left = await store.peopleById([one.personId, two.personId])
    expect(left.map(({ status }) => status).sort()).toEqual(['active', 'ended'])
    const ended = left.find(({ status }) => status === 'ended')
    await expect
      .poll(async () =>
        (await auditOf(node))
          .filter(({ action }) => action === 'console.rejected')
          .map(({ context: { actor } }) => actor),
      )
      .toContain(`person:${ended?.personId}`)
  })
})
