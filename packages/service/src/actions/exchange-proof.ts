import { randomBytes } from 'node:crypto'
import {
  type AllowCredential,
  findRoot,
  type HolderRequest,
  listChain,
  parseSiteId,
  type Scope,
  type SignedCredential,
  type SiteId,
  toPermissionId,
} from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { type GuardDeps, guard } from '../access/guard.ts'
import { requireFresh } from '../access/require-fresh.ts'
import { seenCredential } from '../access/seen-credentials.ts'
import type { Deps } from '../deps.ts'
import { createId } from '../keys/ids.ts'
import { createSecretText, secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { NewToken } from '../store/operations/tokens.ts'

export interface Exchange {
  readonly signed: SignedCredential
  /** Default: that of the credential. */
  readonly siteId: SiteId | undefined
  /** Default: the whole scope of the credential. */
  readonly requestedScope: readonly Scope[] | undefined
  readonly ttlSeconds: number | undefined
  readonly request: HolderRequest
}

/** The token itself is here and in the answer only; the store has its hash. */
export interface NewAccessToken extends Omit<NewToken, 'sha256'> {
  readonly text: string
}

/** A site with too many tokens waits until some expire; the shortest are valid for a minute. */
const TOO_MANY_RETRY_SECONDS = limits.token_ttl_seconds_min

/**
 * Issues a short-lived token for a credential that would be accepted now. Revocation is checked
 * twice: in the view with everything else, and in the transaction that stores the token, so that no
 * token is issued for a credential that is revoked meanwhile.
 */
export async function exchangeProof(
  deps: GuardDeps & Pick<Deps, 'store'>,
  exchange: Exchange,
): Promise<NewAccessToken> {
  const { signed, requestedScope, ttlSeconds = limits.token_ttl_seconds_default, request } = exchange
  const siteId = exchange.siteId ?? parseSiteId(signed.credential.site)
  if (siteId === undefined || deps.views.view(siteId) === undefined) {
    // A node whose view is stale does not know which sites exist.
    requireFresh(deps.views)
    throw new Problem('site_unknown')
  }
  const allow = (await guard(deps, {
    presentation: { signed },
    siteId,
    scope: requestedScope ?? [],
    request,
  })) as AllowCredential
  if (deps.views.view(siteId)?.settings.bearer !== 'on') {
    throw new Problem('bearer_disabled', 'This site issues no bearer tokens. Send the credential itself.')
  }
  if (deps.views.view(siteId)?.settings.holderProof === 'required') {
    const detail =
      'This site requires a holder proof with every request, which a bearer token does not have. Send the credential itself and sign the request.'
    throw new Problem('bearer_disabled', detail)
  }
  const text = createSecretText('svc_at_', randomBytes(32))
  const token = tokenFor(allow, requestedScope ?? allow.subject.scope, ttlSeconds, deps.clock.nowMs())
  // It may have expired while the nonce of its holder proof was stored.
  if (token.expiresAtMs <= token.issuedAtMs)
    throw new Problem('credential_expired', 'The credential has expired. Request a new one from its issuer.')
  const made = await deps.store.createToken(
    { ...token, sha256: secretSha256(text) },
    limits.tokens_per_credential_max,
    token.issuedAtMs,
    seenCredential(allow, 'exchanged'),
  )
  if (made === 'revoked')
    throw new Problem('credential_revoked', 'Access with this credential has been revoked. Contact the site.')
  if (made === 'too_many') {
    throw new Problem(
      'rate_limited',
      `This credential already has ${limits.tokens_per_credential_max} active tokens. Use one of them, or wait until one expires.`,
      {
        retryAfterSeconds: TOO_MANY_RETRY_SECONDS,
      },
    )
  }
  return { ...token, text }
}

function tokenFor(
  { subject, credential, holders }: AllowCredential,
  scope: readonly Scope[],
  ttlSeconds: number,
  nowMs: number,
): Omit<NewToken, 'sha256'> {
  const root = findRoot(credential)
  return {
    jti: createId('tok_', nowMs),
    siteId: subject.siteId,
    ppid: subject.ppid,
    scope,
    permissionId: toPermissionId(credential),
    chain: listChain(credential, holders),
    issuer: root.issuer,
    issuerKey: root.verificationMethod,
    issuedAtMs: nowMs,
    expiresAtMs: Math.min(nowMs + ttlSeconds * 1000, credential.validUntilMs),
  }
}
