import { type TokenFacts, toChainGrounds } from '@countersign/core'
import { parseSecretText, secretSha256 } from '../keys/secret-text.ts'
import type { Store, TokenRow } from '../store/store.ts'

/** What is known of a token that was given out here. */
export interface FoundToken extends TokenFacts {
  readonly jti: string
}

/**
 * Looks up what a bearer token stands for. Whether that still counts is asked at every use, of the
 * view.
 */
export interface TokenFinder {
  /**
   * Undefined for what was never given out, or is already known to be revoked. Rejects when the
   * store cannot be asked.
   */
  find(token: string): Promise<FoundToken | undefined>
}

export interface TokenFinderOptions {
  /** How many tokens are remembered at most, at about 600 bytes each. */
  readonly capacity?: number
}

/**
 * Remembers the facts of tokens, which never change, and nothing about tokens that do not exist. Of
 * what is seldom seen it forgets first: half of the memory is thrown away when the other half is
 * full, except what was used in between.
 */
export function createTokenFinder(
  store: Pick<Store, 'token'>,
  { capacity = 32_768 }: TokenFinderOptions = {},
): TokenFinder {
  const half = Math.max(1, Math.floor(capacity / 2))
  let young = new Map<string, FoundToken>()
  let old = new Map<string, FoundToken>()

  const remember = (found: FoundToken) => {
    if (young.size >= half) {
      old = young
      young = new Map()
    }
    young.set(found.tokenSha256, found)
  }

  const lookUp = async (sha256: string): Promise<FoundToken | undefined> => {
    const row = await store.token(sha256)
    // Already revoked in the store: the view may not have heard of it yet, and need not.
    if (row === undefined || row.revokedAtMs !== undefined) return undefined
    const found = tokenFacts(row)
    remember(found)
    return found
  }

  return {
    async find(token) {
      const sha256 = secretSha256(token)
      const known = young.get(sha256)
      if (known !== undefined) return known
      const seldom = old.get(sha256)
      if (seldom !== undefined) {
        remember(seldom)
        return seldom
      }
      if (parseSecretText('svc_at_', token) === undefined) return undefined
      return lookUp(sha256)
    },
  }
}

/** A row of the store as the verifier takes it. */
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
