import { bearerChallenge, credentialChallenge, problemType } from '../credential/guard-problems.ts'
import { type Challenge, type ProblemCode, problems } from './problems.ts'

/**
 * One thing that is wrong with a request: where, and what should stand there. Never what stood
 * there.
 */
export interface FieldError {
  readonly path: string
  readonly message: string
}

/** What a problem may say besides its code. */
export interface ProblemMembers {
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly requestId: string
  /** What is wrong and what to do next, in words for the caller. Default: the table's. */
  readonly detail?: string | undefined
  readonly errors?: readonly FieldError[] | undefined
  readonly requiredScope?: readonly string[] | undefined
  readonly retryAfterSeconds?: number | undefined
  /** How often another credential can still be presented for a sign-in. */
  readonly triesLeft?: number | undefined
  /** Only where the answer must have another status than the table's, as in forward-auth. */
  readonly status?: number | undefined
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
}

/** The body of a refusal. Members that were not given are left out, not null. */
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
 * The `WWW-Authenticate` of an answer, or undefined where none belongs. Every 401 has one, also a
 * refusal that became 401 for a proxy; pass the status that is really sent.
 */
export function challengeFor(code: ProblemCode, status: number = problems[code].status): string | undefined {
  return status === 401 ? challenges[problems[code].challenge ?? 'credential'](code) : undefined
}
