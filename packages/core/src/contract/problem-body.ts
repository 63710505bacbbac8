import { bearerChallenge, credentialChallenge, problemType } from '../credential/guard-problems.ts'
import { type Challenge, type ProblemCode, problems } from './problems.ts'

/**
 * One fault of a request: its path, and what is expected there. The value itself is never included.
 */
export interface FieldError {
  readonly path: string
  readonly message: string
}

/** The members of a problem in addition to its code. */
export interface ProblemMembers {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly requestId: string
  /** What is wrong and what to do, for the caller. Default: meaning and remedy from the table. */
  readonly detail?: string | undefined
  readonly errors?: readonly FieldError[] | undefined
  readonly requiredScope?: readonly string[] | undefined
  readonly retryAfterSeconds?: number | undefined
  /** The number of remaining tries for a sign-in. */
  readonly triesLeft?: number | undefined
  /** Only if the status differs from the table, as in forward-auth. */
  readonly status?: number | undefined
  /** The error code of RFC 8935 §2.4, where security events are received. */
  readonly err?: string | undefined
}

/** RFC 9457 problem details with the members of this service. */
export interface ProblemBody {
  type: string
  title: string
  status: number
  detail: string
  code: ProblemCode
  request_id: string
  errors?: FieldError[]
  required_scope?: string[]
  retry_after?: number
  tries_left?: number
  err?: string
  description?: string
}

/** The body of an error. Undefined members are left out. */
export function problemBody(code: ProblemCode, members: ProblemMembers): ProblemBody {
  const { status, title, meaning, remedy } = problems[code]
  const body: ProblemBody = {
    type: problemType(members.baseUrl, code),
    title,
    status: members.status ?? status,
    detail: members.detail ?? `${meaning} ${remedy}`,
    code,
    request_id: members.requestId,
  }
  if (members.errors !== undefined && members.errors.length > 0)
    body.errors = members.errors.map(({ path, message }) => ({ path, message }))
  if (members.requiredScope !== undefined) body.required_scope = [...members.requiredScope]
  if (members.retryAfterSeconds !== undefined) body.retry_after = members.retryAfterSeconds
  if (members.triesLeft !== undefined) body.tries_left = members.triesLeft
  if (members.err !== undefined) Object.assign(body, { err: members.err, description: body.detail })
  return body
}

export { problemType }

const REALM = 'realm="countersign"'

const challenges: Record<Challenge, (code: ProblemCode) => string> = {
  credential: credentialChallenge,
  bearer: bearerChallenge,
  api_key: (code) => (code === 'api_key_missing' ? `ApiKey ${REALM}` : `ApiKey ${REALM}, error="${code}"`),
  session: () => `Session ${REALM}`,
}

/**
 * `WWW-Authenticate` of a response: set for every 401, also for a status that became 401 for a
 * proxy, so pass the status that is sent.
 */
export function challengeFor(code: ProblemCode, status: number = problems[code].status): string | undefined {
  return status === 401 ? challenges[problems[code].challenge ?? 'credential'](code) : undefined
}
