import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProcess, startDevProcess } from '../../scripts/dev-process.ts'
import { type Asking, type Issued, type SiteKey, seenFetch, toAsking } from './seen-fetch.ts'

let service: DevProcess
let asking: Asking
let key: SiteKey
beforeAll(async () => {
  service = await startDevProcess()
  asking = toAsking(service.dev)
  key = await asking.keyFor('tokens:introspect', 'tokens:revoke')
})
afterAll(() => service?.stop())

/** An OAuth client as a developer would set it up for our service. */
interface OAuthClient {
  introspect(token: string): Promise<Readonly<Record<string, unknown>>>
  revoke(token: string): Promise<void>
  /** The status of `POST /api/protected/action`. */
  act(token: string): Promise<number>
}

const server = () => {
  const { base_url: issuer } = service.dev
  return {
    issuer,
    introspection_endpoint: `${issuer}/api/auth/introspect`,
    revocation_endpoint: `${issuer}/api/auth/revoke`,
  }
}
const action = () => new URL('/api/protected/action', service.dev.base_url)

/** How a client authenticates. The id of the key is its client_id, and the key its secret. */
type Method = 'X-API-Key' | 'HTTP Basic' | 'client_secret_post'
const METHODS: readonly Method[] = ['X-API-Key', 'HTTP Basic', 'client_secret_post']

function oauth4webapi(method: Method, { key_id, api_key }: SiteKey): OAuthClient {
  const client = { client_id: key_id }
  const authentications: Record<Method, oauth.ClientAuth> = {
    // The key goes in with the hook for client authentication.
    'X-API-Key': (_server, _client, _body, headers) => headers.set('X-API-Key', api_key),
    'HTTP Basic': oauth.ClientSecretBasic(api_key),
    client_secret_post: oauth.ClientSecretPost(api_key),
  }
  const authentication = authentications[method]
  const options = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: seenFetch }
  return {
    introspect: async (token) => {
      const answer = await oauth.introspectionRequest(server(), client, authentication, token, options)
      return { ...(await oauth.processIntrospectionResponse(server(), client, answer)) }
    },
    revoke: async (token) => {
      // The hint is what a client may send, and servers may ignore.
      const more = { ...options, additionalParameters: { token_type_hint: 'access_token' } }
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(server(), client, authentication, token, more),
      )
    },
    act: async (token) =>
      (await oauth.protectedResourceRequest(token, 'POST', action(), undefined, undefined, options)).status,
  }
}

function openidClient(method: Method, { key_id, api_key }: SiteKey): OAuthClient {
  const authentications: Record<Method, openid.ClientAuth> = {
    'X-API-Key': openid.None(),
    'HTTP Basic': openid.ClientSecretBasic(api_key),
    client_secret_post: openid.ClientSecretPost(api_key),
  }
  const configuration = new openid.Configuration(server(), key_id, undefined, authentications[method])
  openid.allowInsecureRequests(configuration)
  configuration[openid.customFetch] = (url, { headers, ...init }) => {
    // The key goes in with the hook for fetch, beside the client_id that a public client sends.
    const isOurs = method === 'X-API-Key' && !url.endsWith('/api/protected/action')
    return seenFetch(url, { ...init, headers: { ...headers, ...(isOurs ? { 'X-API-Key': api_key } : {}) } })
  }
  return {
    introspect: async (token) => ({ ...(await openid.tokenIntrospection(configuration, token)) }),
    revoke: (token) => openid.tokenRevocation(configuration, token, { token_type_hint: 'access_token' }),
    act: async (token) =>
      (await openid.fetchProtectedResource(configuration, token, action(), 'POST')).status,
  }
}

const clients = METHODS.flatMap((method) => [
  { name: 'oauth4webapi', method, create: oauth4webapi },
  { name: 'openid-client', method, create: openidClient },
])

describe.each(clients)('$name with $method', ({ method, create }) => {
  const clientWith = (key: SiteKey) => create(method, key)
  const begin = async (): Promise<Issued & { client: OAuthClient; token: string }> => {
    const issued = await asking.issue({ scope: ['orders:read', 'orders:write'] })
    return {
      ...issued,
      client: clientWith(key),
      token: await asking.tokenFor(issued.credential),
    }
  }

  test('introspects a token', async () => {
    const { client, token, ppid, credential_id } = await begin()
    const { base_url, site_id } = service.dev
    expect(await client.introspect(token)).toMatchObject({
      active: true,
      scope: 'orders:read orders:write',
      token_type: 'Bearer',
      client_id: site_id,
      aud: site_id,
      iss: base_url,
      sub: ppid,
      credential_id,
      exp: expect.any(Number),
      iat: expect.any(Number),
    })
  })

  test('learns nothing of a token that is none', async () => {
    const { client } = await begin()
    for (const token of ['nothing', 'svc_at_nothing', `svc_at_${'0'.repeat(49)}`]) {
      expect(await client.introspect(token)).toEqual({ active: false })
    }
  })

  test('uses a token until it revokes it', async () => {
    const { client, token } = await begin()
    expect(await client.act(token)).toBe(200)
    await client.revoke(token)
    expect(await client.introspect(token)).toEqual({ active: false })
    await expect(client.act(token)).rejects.toMatchObject({ status: 401 })
  })

  test('may revoke what is unknown or revoked, as RFC 7009 §2.2 has it', async () => {
    const { client, token } = await begin()
    for (const dead of [token, token, 'nothing']) await expect(client.revoke(dead)).resolves.toBeUndefined()
  })

  test('sees a token die with its credential', async () => {
    const { client, token, credential_id } = await begin()
    await asking.revoke(credential_id)
    expect(await client.introspect(token)).toEqual({ active: false })
  })

  test('understands that its key is missing, wrong or not enough', async () => {
    const { token } = await begin()
    const wrong = clientWith({ ...key, api_key: 'svc_sk_nothing' })
    for (const call of [wrong.introspect, wrong.revoke]) {
      // oauth4webapi reads WWW-Authenticate itself, and throws this only when it can.
      const error = await call(token).then(
        () => undefined,
        (thrown: Error) => thrown,
      )
      const { cause, status } = error as oauth.WWWAuthenticateChallengeError
      expect(status).toBe(401)
      expect(cause).toEqual([expect.objectContaining({ scheme: expect.any(String) })])
    }
    const narrow = clientWith(await asking.keyFor('tokens:introspect'))
    expect(await narrow.introspect(token)).toMatchObject({ active: true })
    await expect(narrow.revoke(token)).rejects.toThrow()
    expect(await narrow.introspect(token)).toMatchObject({ active: true })
  })
})

test('a rejection speaks to OAuth clients in the words of RFC 6750', async () => {
  const options = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: seenFetch }
  const call = oauth.protectedResourceRequest(
    'svc_at_nothing',
    'POST',
    action(),
    undefined,
    undefined,
    options,
  )
  await expect(call).rejects.toMatchObject({
    cause: expect.arrayContaining([
      expect.objectContaining({
        scheme: 'bearer',
        parameters: expect.objectContaining({ error: 'invalid_token' }),
      }),
    ]),
  })
})
