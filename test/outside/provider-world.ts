import * as openid from 'openid-client'
import { type DevProcess, startDevProcess } from '../../scripts/dev-process.ts'
import { type Client, createClient } from '../process/client.ts'
import type { BrowserUser } from './browser-user.ts'
import { CLIENT_ID, type ProviderProcess, SESSION_CLIENT_ID, startProvider } from './provider-process.ts'

/** The service and an identity provider that others wrote, each in a process of its own. */
export interface ProviderWorld {
  readonly service: DevProcess
  readonly client: Client
  readonly provider: ProviderProcess
  /** Has the site trust the provider for these audiences. Discovery finds its keys. */
  trustProvider(audience: readonly string[]): Promise<void>
  /** What an ordinary OAuth client gets after the user has signed in: an access token. */
  signIn(user: BrowserUser, options: SignInOptions): Promise<string>
  /** Revokes the user by the names of the provider, and waits until all guards have applied it. */
  revokeUser(user: BrowserUser): ReturnType<Client['ask']>
  close(): Promise<void>
}

interface SignInOptions {
  /** The resource that the token is for: its audience. */
  readonly resource: string
  readonly clientId?: string
  readonly scope?: string
  /** Binds the token to the key of this client. */
  readonly dpop?: openid.DPoPHandle
}

const REDIRECT_URI = 'http://127.0.0.1/callback'

export async function startProviderWorld(): Promise<ProviderWorld> {
  const service = await startDevProcess()
  const { base_url, site_id, operator_key, site_key } = service.dev
  const provider = await startProvider({ logoutUrl: `${base_url}/api/sites/${site_id}/signals/logout` })
  const client = createClient(base_url, service.dev)
  return {
    service,
    client,
    provider,
    async trustProvider(audience) {
      const { issuer } = provider
      const sender = { type: 'backchannel_logout', issuer, subject: 'sub' }
      const { status, body } = await client.ask('POST', `/api/sites/${site_id}/issuers`, {
        key: operator_key,
        body: {
          type: 'oauth',
          issuer,
          audience,
          session_claim: 'sid',
          signals: [{ ...sender, audience: [CLIENT_ID, SESSION_CLIENT_ID] }],
        },
      })
      if (status !== 201) throw new Error(`the provider is not trusted: ${JSON.stringify(body)}`)
    },
    async signIn(user, { resource, clientId = CLIENT_ID, scope = 'orders:read', dpop }) {
      const configuration = await discoverProvider(provider.issuer, clientId)
      const pkceCodeVerifier = openid.randomPKCECodeVerifier()
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: REDIRECT_URI,
        scope: `openid ${scope}`,
        resource,
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
      })
      const { access_token } = await openid.authorizationCodeGrant(
        configuration,
        await user.authorize(url),
        { pkceCodeVerifier },
        { resource },
        dpop && { DPoP: dpop },
      )
      return access_token
    },
    revokeUser: ({ name }) =>
      client.ask('POST', '/api/wallet/revoke-user', {
        key: site_key,
        headers: { Prefer: 'wait=30' },
        body: { site_id, issuer: provider.issuer, subject: name },
      }),
    async close() {
      await provider.stop()
      await service.stop()
    },
  }
}

/** The provider as `openid-client` sees it. */
export function discoverProvider(issuer: string, clientId = CLIENT_ID): Promise<openid.Configuration> {
  const execute = [openid.allowInsecureRequests]
  return openid.discovery(new URL(issuer), clientId, undefined, openid.None(), { execute })
}
