import type { Scope } from '@countersign/core'
import type { ProblemCode, SecurityEventError } from '@countersign/core/contract'

interface Page {
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface ProblemFacts {
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
  readonly requiredScope?: readonly Scope[]
  readonly retryAfterSeconds?: number
  /** Of a sign-in. */
  readonly triesLeft?: number
  /** On `rate_limited`: which allowance is used up, for the RateLimit headers. */
  readonly policy?: { readonly name: string; readonly quota: number; readonly windowSeconds: number }
  /** Of a security event. Default: `invalid_request`. */
  readonly err?: SecurityEventError
  /** Of the answer, besides those that follow from the code. */
  readonly headers?: Readonly<Record<string, string>>
  /** What a browser is shown, where pages are shown, in place of the ordinary page of the code. */
  readonly page?: Page
  /** For the log only. Never shown to the caller. */
  readonly cause?: unknown
}

/**
 * A rejected request. `http/respond.ts` turns it into problem+json. `detail` is for the caller: it
 * says what to do and contains no secret. Any other thrown value is a fault of the service or the
 * store.
 */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly detail: string | undefined
  readonly facts: ProblemFacts

  constructor(code: ProblemCode, detail?: string, facts: ProblemFacts = {}) {
    super(detail ?? code, { cause: facts.cause })
    this.code = code
    this.detail = detail
    this.facts = facts
  }
}
