import {
  CREDENTIAL_HEADER,
  credentialHeader,
  formatTime,
  holderRequestFrom,
  type JsonObject,
  type Ppid,
  type PrivateKey,
  parsePpid,
  type SiteId,
  sha256Hex,
  signRequest,
  type TokenFacts,
} from '@countersign/core'
import type { TestClock } from './test-clock.ts'

/** A credential with all that its holder needs to use it. */
export interface TestCredential {
  readonly credential: JsonObject
  readonly credentialId: string
  readonly ppid: string
  /** The value of `X-Service-Credential`. */
  readonly header: string
  /** Of a bound one. */
  readonly holderKey?: PrivateKey
  /** The headers to send with this very request; signed when the credential is bound. */
  headersFor(method: string, url: string, body?: string | Uint8Array): Promise<Record<string, string>>
}

export function toTestCredential(
  credential: JsonObject,
  credentialId: string,
  ppid: string,
  holderKey: PrivateKey | undefined,
  clock: TestClock,
): TestCredential {
  const header = credentialHeader(credential)
  return {
    credential,
    credentialId,
    ppid,
    header,
    ...(holderKey && { holderKey }),
    async headersFor(method, url, body) {
      const headers = { [CREDENTIAL_HEADER]: header }
      if (holderKey === undefined) return headers
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
      const request = holderRequestFrom(method, url, new Headers(headers), bytes ?? 'none')
      return { ...headers, ...(await signRequest(request, { key: holderKey, nowMs: clock.nowMs })) }
    },
  }
}

/** The introspection response for an active token. */
export function toIntrospection(token: TokenFacts, baseUrl: string): JsonObject {
  const seconds = (ms: number) => Math.floor(ms / 1000)
  return {
    active: true,
    scope: token.scope.join(' '),
    scopes: [...token.scope],
    client_id: token.siteId,
    token_type: 'Bearer',
    exp: seconds(token.expiresAtMs),
    iat: seconds(token.issuedAtMs),
    nbf: seconds(token.issuedAtMs),
    sub: token.ppid,
    aud: token.siteId,
    iss: baseUrl,
    jti: token.tokenSha256.slice(0, 26),
    site_id: token.siteId,
    permission_id: token.permissionId,
    credential_id: token.credentialIds[0] ?? null,
    credential_chain: [...token.credentialIds],
    holder_thumbprints: token.holders.filter((holder) => holder !== undefined),
    issuer: token.issuer,
    issuer_key: token.issuerKey.slice(token.issuerKey.indexOf('#') + 1),
    root_created_at: formatTime(token.signedAtMs),
    oldest_created_at: formatTime(token.oldestSignedAtMs),
  }
}

/** The same name at the same site is the same user. */
export async function toPpid(siteId: SiteId, user: string): Promise<Ppid> {
  const ppid = parsePpid(`did:service:ppid_${(await sha256Hex(`${siteId}\n${user}`)).slice(0, 52)}`)
  if (ppid === undefined) throw new TypeError('a hash makes a ppid')
  return ppid
}
