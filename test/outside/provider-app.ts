/**
 * An identity provider, alone in its process: `oidc-provider` with its own pages for sign-in. It
 * signs JWT access tokens for every resource that a client names, and sends back-channel logouts.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
// @ts-expect-error: it comes without types.
import Provider from 'oidc-provider'
import { readForkOptions } from '../process/forked.ts'
import { CLIENT_ID, type ProviderOptions, SESSION_CLIENT_ID } from './provider-process.ts'

const { logoutUrl } = readForkOptions<ProviderOptions>()
const SCOPES = ['orders:read', 'orders:write']
/** The path does not matter: no server answers there, and the tests read the code from the URL. */
const REDIRECT_URIS = ['http://127.0.0.1/callback']

const client = {
  token_endpoint_auth_method: 'none',
  application_type: 'native',
  redirect_uris: REDIRECT_URIS,
  grant_types: ['authorization_code'],
  response_types: ['code'],
  backchannel_logout_uri: logoutUrl,
}

const server = createServer()
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const key = async (alg: string, kid: string) => {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  return { ...(await exportJWK(privateKey)), alg, kid, use: 'sig' }
}

// It says that its pages and its memory are for development, which is what they are for here.
console.info = () => {}
console.warn = () => {}
const provider = new Provider(issuer, {
  clients: [
    { ...client, client_id: CLIENT_ID },
    { ...client, client_id: SESSION_CLIENT_ID, backchannel_logout_session_required: true },
  ],
  jwks: { keys: [await key('RS256', 'rsa-1'), await key('ES256', 'ec-1')] },
  cookies: { keys: ['only-for-tests'] },
  scopes: ['openid', ...SCOPES],
  // By default it connects to no loopback address, and the service of the test is at one.
  fetch: (url: string, { dispatcher: _, ...init }: RequestInit & { dispatcher?: unknown }) =>
    fetch(url, init),
  extraTokenClaims: ({ oidc }: { oidc: { entities: { AuthorizationCode?: { sid?: string } } } }) => ({
    sid: oidc.entities.AuthorizationCode?.sid,
  }),
  features: {
    backchannelLogout: { enabled: true },
    dPoP: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context: unknown, audience: string) => ({
        audience,
        scope: SCOPES.join(' '),
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
})
provider.on('backchannel.error', (_context: unknown, error: Error) => console.error(error))
provider.on('server_error', (_context: unknown, error: Error) => console.error(error))
server.on('request', provider.callback())
process.send?.({ issuer })
