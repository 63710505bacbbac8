import type { VerifiedJwt } from '@countersign/core'
import type { OauthToken } from '@countersign/core/contract'

/** What the issuer calls the user and the token. */
export function toOauthToken({ facts }: Pick<VerifiedJwt, 'facts'>): OauthToken {
  const { issuer, subject, clientId, jti } = facts
  return { issuer, subject, client_id: clientId ?? null, jti: jti ?? null }
}

/**
 * A text as the value of a header: visible ASCII stays, everything else and the characters that
 * lists and quoted texts use become percent-encoded UTF-8. `decodeURIComponent` reads it.
 */
export function toHeaderText(text: string): string {
  // Strict JSON has no lone surrogates, so that this cannot throw.
  return text.replaceAll(/[^\x21-\x7e]|[%",\\]/gu, encodeURIComponent)
}
