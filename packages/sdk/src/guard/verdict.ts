import type {
  Allow,
  AllowBearer,
  AllowCredential,
  AllowJwt,
  GuardProblemCode,
  JsonObject,
  ViewStamp,
} from '@countersign/core'
import type { Need } from '../shared/needs.ts'

/** Check `ok` first: a denial has no subject. */
export type GuardVerdict = GuardAllow | GuardDenial

/**
 * Access is granted. `subject` says to which user and for what, `presented` by what, `view` how
 * fresh the revocation data was. `holder` of a credential is `verified_without_body` when the
 * adapter could not provide the body: the signature does not vouch for the body then.
 */
export type GuardAllow = (AllowCredential | AllowBearer | GuardAllowJwt) & FailingOpen

/** An access token of an OAuth issuer was accepted. */
export interface GuardAllowJwt extends AllowJwt {
  readonly token: AccessToken
}

/** The user and the client by the names that the OAuth issuer and the application use. */
export interface AccessToken {
  readonly issuer: string
  /** `sub`, or the claim that the site has configured in its place. */
  readonly subject: string
  /** `client_id`, or else `azp`. */
  readonly clientId: string | undefined
  readonly jti: string | undefined
  /** All claims of the token, whose signature was verified. */
  readonly claims: JsonObject
}

export function toGuardAllow(allow: Allow): GuardAllow {
  if (allow.presented !== 'jwt') return allow
  const { facts, read } = allow.jwt
  const { issuer, subject, clientId, jti } = facts
  return { ...allow, token: { issuer, subject, clientId, jti, claims: read.claims } }
}

/**
 * Access is denied, for programs and models: the code, a message, what would help, whether a retry
 * may succeed, and the response ready to send.
 */
export interface GuardDenial extends FailingOpen {
  readonly ok: false
  readonly status: number
  readonly code: GuardProblemCode
  /** What is wrong and what to do next. Safe to send. */
  readonly detail: string
  readonly needs: Need
  /** Whether the very same request may succeed later. */
  readonly retryable: boolean
  /** On 503. */
  readonly retryAfterSeconds?: number
  /** On `scope_insufficient`. */
  readonly requiredScope?: readonly string[]
  /** RFC 9457, to be sent as `application/problem+json`. */
  readonly problem: GuardProblem
  /**
   * By lower-case name: the content type, `no-store`, and where they apply the challenge, the time
   * to wait and the signature that is required. A 403 has a challenge for OAuth clients.
   */
  readonly headers: Readonly<Record<string, string>>
  readonly view: ViewStamp
}

/** The body of a denial, with the members of the wire contract. */
export interface GuardProblem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: GuardProblemCode
  /** The caller's `X-Request-Id`, when it sent a valid one. */
  readonly request_id?: string
  readonly required_scope?: readonly string[]
  readonly retry_after?: number
}

/**
 * On every verdict of a guard that fails open: `fresh` if its revocation data was fresh, `stale` if
 * it was not.
 */
export interface FailingOpen {
  readonly failOpen?: 'fresh' | 'stale'
}
