import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type AppProcess, startApp } from '../process/app-process.ts'
import { addOutcomes, type GuardCrowd, startGuardCrowd } from '../process/guard-crowd-process.ts'
import { type BrowserUser, createBrowserUser } from './browser-user.ts'
import { SESSION_CLIENT_ID } from './provider-process.ts'
import { discoverProvider, type ProviderWorld, startProviderWorld } from './provider-world.ts'

// Tokens of `oidc-provider`, which clients that others wrote present to applications behind guards.

let world: ProviderWorld
let app: AppProcess
let resource: string
beforeAll(async () => {
  world = await startProviderWorld()
  app = await startApp({ baseUrl: world.service.dev.base_url, dev: world.service.dev, name: 'app' })
  resource = `${app.url}/orders`
  await world.trustProvider([resource])
})
afterAll(async () => {
  await app?.stop()
  await world?.close()
})

let users = 0
const newUser = () => createBrowserUser(`user-${++users}`)
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const orders = (token: string) => app.ask('/orders', bearer(token)).then(({ status }) => status)

/** Signs in until the provider's clock shows a later second than that of the logout. */
const signInAgain = async (user: BrowserUser, more: { clientId?: string } = {}) => {
  let token = ''
  await expect
    .poll(async () => orders((token = await world.signIn(user, { resource, ...more }))), { interval: 300 })
    .toBe(200)
  return token
}

test('a token is accepted, and the application knows its user by the name of the provider', async () => {
  const user = newUser()
  const token = await world.signIn(user, { resource })
  const answer = await app.ask('/orders', bearer(token))
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({
    ppid: expect.stringMatching(/^did:service:ppid_j_/),
    token: { issuer: world.provider.issuer, subject: user.name, clientId: 'agent' },
  })
})

test.each([
  ['another audience', { resource: 'http://127.0.0.1:9/elsewhere' }, 401],
  ['too little scope', { scope: 'orders:write' }, 403],
])('a token with %s is rejected', async (_name, more, status) => {
  expect(await orders(await world.signIn(newUser(), { resource, ...more }))).toBe(status)
})

test('a user who is revoked by issuer and subject is denied, also after signing in again, and a stream ends', async () => {
  const [user, other] = [newUser(), newUser()]
  const token = await world.signIn(user, { resource })
  const others = await world.signIn(other, { resource })
  const { all } = await app.stream(bearer(token))
  const { status, body } = await world.revokeUser(user)
  expect(status).toBe(200)
  expect(body.propagation).toMatchObject({ connected: 1, acknowledged: 1, laggards: [] })
  expect(await orders(token)).toBe(401)
  expect(await all).toMatch(/^(?:tick\n)+ended\n$/)
  expect(await orders(await world.signIn(user, { resource }))).toBe(401)
  expect(await orders(others)).toBe(200)
})

describe('a logout at the provider', () => {
  test('ends the tokens that the user has, and a stream; signing in again works', {
    tags: 'long',
  }, async () => {
    const [user, other] = [newUser(), newUser()]
    const token = await world.signIn(user, { resource })
    const others = await world.signIn(other, { resource })
    const { all } = await app.stream(bearer(token))
    await user.signOut(world.provider.issuer)
    await expect.poll(() => orders(token)).toBe(401)
    expect(await all).toMatch(/^(?:tick\n)+ended\n$/)
    const again = await signInAgain(user)
    expect([await orders(again), await orders(token), await orders(others)]).toEqual([200, 401, 200])
  })

  test('of one session ends the tokens of that session only', async () => {
    const name = newUser().name
    const [phone, laptop] = [createBrowserUser(name), createBrowserUser(name)]
    const clientId = SESSION_CLIENT_ID
    const ofPhone = await world.signIn(phone, { resource, clientId })
    const ofLaptop = await world.signIn(laptop, { resource, clientId })
    await phone.signOut(world.provider.issuer)
    await expect.poll(() => orders(ofPhone)).toBe(401)
    expect(await orders(ofLaptop)).toBe(200)
    expect(await orders(await world.signIn(phone, { resource, clientId }))).toBe(200)
  })

  test('does not reinstate a revoked user', async () => {
    const user = newUser()
    const token = await world.signIn(user, { resource })
    await world.revokeUser(user)
    await user.signOut(world.provider.issuer)
    expect(await orders(token)).toBe(401)
    expect(await orders(await world.signIn(user, { resource }))).toBe(401)
  })
})

describe('DPoP with openid-client', () => {
  const bound = async (user: BrowserUser) => {
    const configuration = await discoverProvider(world.provider.issuer)
    const dpop = openid.getDPoPHandle(configuration, await openid.randomDPoPKeyPair())
    const token = await world.signIn(user, { resource, dpop })
    const ask = (DPoP: openid.DPoPHandle = dpop) =>
      openid
        .fetchProtectedResource(configuration, token, new URL(resource), 'GET', undefined, undefined, {
          DPoP,
        })
        .then(
          ({ status }) => status,
          ({ status }) => status,
        )
    return { configuration, token, ask }
  }

  beforeAll(async () => {
    const { ask } = await bound(newUser())
    // A guard that keeps nonces in memory rejects the proofs of its first seconds.
    await vi.waitUntil(async () => (await ask()) === 200, { timeout: 60_000, interval: 200 })
  })

  test('a bound token is accepted with proofs of its key, each time with a new one', async () => {
    const { ask } = await bound(newUser())
    expect([await ask(), await ask()]).toEqual([200, 200])
  })

  test('a bound token is rejected with another key, and as a bearer token', async () => {
    const { ask, configuration, token } = await bound(newUser())
    const another = openid.getDPoPHandle(configuration, await openid.randomDPoPKeyPair())
    expect(await ask(another)).toBe(401)
    expect(await orders(token)).toBe(401)
    expect(await ask()).toBe(200)
  })

  test('a bound token is denied when its user is revoked', async () => {
    const user = newUser()
    const { ask } = await bound(user)
    expect(await ask()).toBe(200)
    await world.revokeUser(user)
    expect(await ask()).toBe(401)
  })
})

test('openid-client introspects and revokes a token with HTTP Basic', async () => {
  const { base_url: issuer, site_id, operator_key } = world.service.dev
  const { body: key } = await world.client.ask('POST', `/api/sites/${site_id}/keys`, {
    key: operator_key,
    body: { permissions: ['tokens:introspect', 'tokens:revoke'] },
  })
  const server = {
    issuer,
    introspection_endpoint: `${issuer}/api/auth/introspect`,
    revocation_endpoint: `${issuer}/api/auth/revoke`,
  }
  const basic = openid.ClientSecretBasic(key.api_key)
  const configuration = new openid.Configuration(server, key.key_id, undefined, basic)
  openid.allowInsecureRequests(configuration)
  const user = newUser()
  const token = await world.signIn(user, { resource })
  expect(await openid.tokenIntrospection(configuration, token)).toMatchObject({
    active: true,
    scope: 'orders:read',
    token: { issuer: world.provider.issuer, subject: user.name },
  })
  await openid.tokenRevocation(configuration, token)
  expect(await openid.tokenIntrospection(configuration, token)).toEqual({ active: false })
  await expect.poll(() => orders(token)).toBe(401)
  expect(await orders(await world.signIn(user, { resource }))).toBe(200)
})

describe('a hundred guards in two processes', () => {
  const COUNT = 50
  let crowds: GuardCrowd[] = []
  beforeAll(async () => {
    const { base_url: baseUrl, site_id: siteId, site_key: apiKey } = world.service.dev
    const start = (name: string) => startGuardCrowd({ baseUrl, siteId, apiKey, name, count: COUNT })
    crowds = await Promise.all(['one', 'two'].map(start))
  })
  afterAll(() => Promise.all(crowds.map((crowd) => crowd.stop())))
  const all = async (ask: (crowd: GuardCrowd) => ReturnType<GuardCrowd['show']>) =>
    addOutcomes(await Promise.all(crowds.map(ask)))

  test('all reject a revoked user, all abort what runs, and the receipt counts them', async () => {
    const user = newUser()
    const token = await world.signIn(user, { resource })
    expect(await all((crowd) => crowd.show(token))).toEqual({ accepted: 100 })
    expect(await all((crowd) => crowd.watch(token))).toEqual({ watched: 100 })
    const { body } = await world.revokeUser(user)
    // Beside them, the application.
    expect(body.propagation).toMatchObject({ connected: 101, acknowledged: 101, laggards: [] })
    expect(await all((crowd) => crowd.show(token))).toEqual({ token_invalid: 100 })
    expect(await all((crowd) => crowd.signals())).toEqual({ aborted: 100 })
  })

  test('all reject a user who has logged out at the provider', async () => {
    const user = newUser()
    const token = await world.signIn(user, { resource })
    expect(await all((crowd) => crowd.show(token))).toEqual({ accepted: 100 })
    await user.signOut(world.provider.issuer)
    await expect.poll(() => all((crowd) => crowd.show(token))).toEqual({ token_invalid: 100 })
    const again = await signInAgain(user)
    expect(await all((crowd) => crowd.show(again))).toEqual({ accepted: 100 })
  })
})
