import type { Allow, RefusalCode, ViewStamp } from '@countersign/core'

/** Look at `ok` first: a denial has no subject. */
export type GuardVerdict = GuardAllow | GuardDenial

/**
 * Accepted. `subject` says who and what for, `presented` with what, `view` how fresh the revocation
 * knowledge behind it was. `holder` of a credential is `proven_body_unseen` when the adapter could
 * not show the body: then the body is not covered by anything.
 */
export type GuardAllow = Allow & FailingOpen

/**
 * A refusal for programs and models: the code, plain words, what would be needed, whether retrying
 * helps, and the answer ready to send.
 */
export interface GuardDenial extends FailingOpen {
  readonly ok: false
  readonly status: number
  readonly code: RefusalCode
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
   * By lower-case name: content type, `no-store`, and where they belong the challenge, the time to
   * wait, and which signature is wanted.
   */
  readonly headers: Readonly<Record<string, string>>
  readonly view: ViewStamp
}

/**
 * What would help: a credential at all, a new one from the same issuer (`renewal`), one with more
 * `scope`, one from a `trusted_issuer`, one for this site (`site`), a request signed by the holder
 * (`holder_proof`), a request that is put right (`correction`), or `waiting`. `nothing`: access has
 * been taken away.
 */
export type Need =
  | 'credential'
  | 'renewal'
  | 'scope'
  | 'trusted_issuer'
  | 'site'
  | 'holder_proof'
  | 'correction'
  | 'waiting'
  | 'nothing'

/** The body of a refusal, with the members of the wire contract. */
export interface GuardProblem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: RefusalCode
  /** The caller's `X-Request-Id`, when it sent a sane one. */
  readonly request_id?: string
  readonly required_scope?: readonly string[]
  readonly retry_after?: number
}

/**
 * On every verdict of a guard that was told to fail open: `armed` when the knowledge was fresh all
 * the same, `used` when it was too old.
 */
export interface FailingOpen {
  readonly failOpen?: 'armed' | 'used'
}
