import {
  type CredentialId,
  findSignedJwt,
  isDenial,
  isJwtForm,
  type SiteId,
  type SiteView,
} from '@countersign/core'
import { requireFresh, staleProblem } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import type { Logged, SiteEntryPosition } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { TokenRevocation, TokenRow } from '../store/operations/tokens.ts'
import { confirmRevocation } from './confirm-revocation.ts'
import { revokeCredential } from './revoke-credential.ts'

export interface TokenToRevoke {
  /** As it was sent; it may be any text. */
  readonly token: string
  /** Undefined: a token of any site. */
  readonly siteId: SiteId | undefined
  readonly reason: string | undefined
}

/**
 * Revokes a token and returns the log entry of the revocation. Undefined when there was nothing to
 * revoke: the token is unknown, of another site, expired or already revoked, or not a token. An
 * audit row is written in any case. When this returns, this node already denies.
 */
export async function revokeToken(
  deps: Pick<Deps, 'store' | 'views' | 'signatures'>,
  { token, siteId, reason }: TokenToRevoke,
  context: AuditContext,
): Promise<SiteEntryPosition | undefined> {
  if (siteId !== undefined && isJwtForm(token)) {
    const tokenId = await findRevocableJwt(deps, token, siteId, context.atMs)
    if (tokenId !== undefined) return revokeJwt(deps, siteId, tokenId, reason, context)
  }
  const order = { sha256: secretSha256(token), siteId, reason }
  return confirmToken(deps, (isUnconfirmed) => deps.store.revokeToken(order, context, isUnconfirmed))
}

/** The same for a token of a site by its id. */
export function revokeTokenById(
  deps: Pick<Deps, 'store' | 'views'>,
  order: { readonly siteId: SiteId; readonly jti: string; readonly reason: string | undefined },
  context: AuditContext,
): Promise<SiteEntryPosition | undefined> {
  return confirmToken(deps, (isUnconfirmed) => deps.store.revokeTokenById(order, context, isUnconfirmed))
}

async function confirmToken(
  deps: Pick<Deps, 'store' | 'views'>,
  revokeInStore: (isUnconfirmed: boolean) => Promise<Logged<TokenRevocation> | undefined>,
): Promise<SiteEntryPosition | undefined> {
  const first = await revokeInStore(false)
  if (first === undefined) return undefined
  const { siteId, sha256 } = first.token
  const { entry } = await confirmRevocation<Logged<TokenRevocation>>(deps, {
    revokeInStore: async (unconfirmed) =>
      unconfirmed === undefined ? first : ((await revokeInStore(true)) ?? unconfirmed),
    findUnconfirmed: (view, { token }) => (isTokenRevokedIn(view, token) ? undefined : first),
    siteId,
    row: { table: 'tokens', key: sha256 },
  })
  return entry
}

/**
 * The id of an access token that an OAuth issuer of the site has signed, unless it has expired.
 * Throws when this node's data is stale: then it must not answer that there is nothing to revoke.
 */
async function findRevocableJwt(
  { views, signatures }: Pick<Deps, 'views' | 'signatures'>,
  token: string,
  siteId: SiteId,
  nowMs: number,
): Promise<CredentialId | undefined> {
  requireFresh(views, 'store_unavailable')
  const data = views.revocationData(siteId, signatures)
  const jwt = data && (await findSignedJwt(token, nowMs, data))
  if (jwt === undefined) return undefined
  if (isDenial(jwt)) {
    if (jwt.code === 'revocation_view_stale') throw staleProblem('store_unavailable')
    return undefined
  }
  if (!(nowMs < jwt.facts.expiresAtMs)) return undefined
  return jwt.grounds.credentialIds[0]
}

async function revokeJwt(
  deps: Pick<Deps, 'store' | 'views'>,
  siteId: SiteId,
  credentialId: CredentialId,
  reason: string | undefined,
  context: AuditContext,
): Promise<SiteEntryPosition | undefined> {
  const { alreadyRevoked, epoch, seq, revokedAtMs } = await revokeCredential(
    deps,
    { siteId, credentialId, reason },
    context,
  )
  return alreadyRevoked ? undefined : { siteId, epoch, seq, atMs: revokedAtMs }
}

/**
 * Whether the token, its user or a credential of its chain is revoked, which is final for this
 * token. Trust in an issuer may come back, so it is not considered.
 */
export function isTokenRevokedIn(view: SiteView, { sha256, ppid, chain }: TokenRow): boolean {
  return (
    view.tokenRevocation(sha256) !== undefined ||
    chain.some(({ credentialId }) => view.credentialRevocation(credentialId) !== undefined) ||
    view.userRevocation(ppid, Math.min(...chain.map(({ createdMs }) => createdMs))) !== undefined
  )
}
