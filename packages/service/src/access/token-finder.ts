import { type TokenFacts, toChainGrounds } from '@countersign/core'
import { BoundedMap } from '../bounded-map.ts'
import { parseSecretText, secretSha256 } from '../keys/secret-text.ts'
import type { TokenRow } from '../store/operations/tokens.ts'
import type { Store } from '../store/store.ts'

/** The facts of a token that this service issued. */
export interface FoundToken extends TokenFacts {
  readonly jti: string
}

/**
 * Finds the facts of a bearer token. Whether the token is still valid is checked against the view
 * at every use.
 */
export interface TokenFinder {
  /**
   * Undefined for a token that was never issued, or that is already revoked. Rejects if the store
   * is unavailable. A promise only where the store is asked.
   */
  find(token: string): FoundToken | undefined | Promise<FoundToken | undefined>
}

export interface TokenFinderOptions {
  /** The maximum number of cached tokens, at about 600 bytes each. */
  readonly capacity?: number
}

/** Caches the facts of tokens, which never change. Unknown tokens are not cached. */
export function createTokenFinder(
  store: Pick<Store, 'token'>,
  { capacity = 32_768 }: TokenFinderOptions = {},
): TokenFinder {
  const tokens = new BoundedMap<string, FoundToken>(capacity)

  const lookUp = async (sha256: string): Promise<FoundToken | undefined> => {
    const row = await store.token(sha256)
    // The store may know of a revocation before the view of this node has applied it.
    if (row === undefined || row.revokedAtMs !== undefined) return undefined
    const found = tokenFacts(row)
    tokens.set(sha256, found)
    return found
  }

  return {
    find(token) {
      const sha256 = secretSha256(token)
      const known = tokens.get(sha256)
      if (known !== undefined) return known
      if (parseSecretText('svc_at_', token) === undefined) return undefined
      return lookUp(sha256)
    },
  }
}

/** Converts a row of the store to the facts that a verification takes. */
export function tokenFacts(row: TokenRow): FoundToken {
  return {
    tokenSha256: row.sha256,
    jti: row.jti,
    siteId: row.siteId,
    ppid: row.ppid,
    scope: row.scope,
    permissionId: row.permissionId,
    ...toChainGrounds(row.chain),
    issuer: row.issuer,
    issuerKey: row.issuerKey,
    issuedAtMs: row.issuedAtMs,
    expiresAtMs: row.expiresAtMs,
  }
}
