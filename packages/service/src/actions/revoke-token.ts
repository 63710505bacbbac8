import type { SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import type { Act, EntryPlace } from '../store/store.ts'
import { untilKnownHere } from './until-known-here.ts'

export interface TokenToRevoke {
  /** Whatever was sent as one. */
  readonly token: string
  /** Undefined: of whatever site. */
  readonly siteId: SiteId | undefined
  readonly reason: string | undefined
}

/**
 * Revokes a token, and says which entry of which site's log that made. Undefined when there was nothing to revoke: unknown, of another site, ended
 * or revoked before, or no token at all; an audit row is written all the same. When this returns, this node already denies.
 */
export async function revokeToken(
  deps: Pick<Deps, 'store' | 'views'>,
  { token, siteId, reason }: TokenToRevoke,
  act: Act,
): Promise<EntryPlace | undefined> {
  const revoked = await deps.store.revokeToken({ sha256: secretSha256(token), siteId, reason }, act)
  if (revoked === undefined) return undefined
  await untilKnownHere(deps, revoked)
  return revoked.entry
}
