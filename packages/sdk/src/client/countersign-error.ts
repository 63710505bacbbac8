import type { ProblemCode } from '@countersign/core/contract'
import type { Denial } from './read-denial.ts'

/**
 * A code of the service; or `no_answer`, `timed_out`, and `answer_unknown` for a response that does
 * not come from this service.
 */
export type CountersignErrorCode = ProblemCode | 'no_answer' | 'timed_out' | 'answer_unknown' | (string & {})

/**
 * A call of the service has failed. Neither the message nor the members contain a key, token or
 * credential.
 */
export class CountersignError extends Error {
  override readonly name = 'CountersignError'
  readonly code: CountersignErrorCode
  /** Undefined when there was no answer. */
  readonly status: number | undefined
  /** Identifies the request in the log of the service. */
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** The whole denial, if the service sent one. */
  readonly denial: Denial | undefined

  constructor(
    code: CountersignErrorCode,
    detail: string,
    more: Partial<Pick<CountersignError, 'status' | 'retryable' | 'denial' | 'cause'>> = {},
  ) {
    super(
      `${code}: ${detail}${describeErrors(more.denial)}`,
      more.cause === undefined ? undefined : { cause: more.cause },
    )
    const { denial } = more
    this.code = code
    this.status = denial?.status ?? more.status
    this.requestId = denial?.requestId
    this.retryAfterSeconds = denial?.retryAfterSeconds
    this.retryable = denial?.retryable ?? more.retryable ?? false
    this.denial = denial
  }
}

/**
 * On `validation_failed`: the members that are wrong, so that a log of the message alone says what
 * to correct.
 */
function describeErrors(denial: Denial | undefined): string {
  const errors = denial?.errors ?? []
  return errors.length === 0 ? '' : ` (${errors.map(({ path, message }) => `${path} ${message}`).join('; ')})`
}
