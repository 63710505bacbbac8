import * as z from 'zod'
import { limits } from './limits.ts'
import type { FieldError } from './problem-body.ts'
import { type ProblemCode, problemCodes, problems } from './problems.ts'
import { isLine } from './text.ts'
import { securityEventErrors } from './vocabulary.ts'

/** The part of a request that a schema was applied to. */
export type RequestPart = 'params' | 'query' | 'headers' | 'body'

/** The code and errors of a failed validation. */
export interface ValidationProblem {
  readonly code: ProblemCode
  readonly errors: readonly FieldError[]
}

/**
 * The problem for a failed validation. Invalid path parameters are `not_found`. Otherwise the code
 * is the first one with status 400, else the code that all faults share, else `validation_failed`.
 * The values from the request are never included.
 */
export function toValidationProblem(error: z.ZodError, part: RequestPart): ValidationProblem {
  if (part === 'params') return { code: 'not_found', errors: [] }
  const codes = [...new Set(error.issues.map(toProblemCode))]
  const malformed = codes.find((code) => problems[code].status === 400)
  const [only = 'validation_failed', ...others] = codes
  const code = malformed ?? (others.length === 0 ? only : 'validation_failed')
  return { code, errors: error.issues.flatMap(fieldErrors).slice(0, limits.errors_listed_max) }
}

function toProblemCode(issue: z.core.$ZodIssue): ProblemCode {
  const code: unknown = issue.code === 'custom' ? issue.params?.code : undefined
  return problemCodes.find((known) => known === code) ?? 'validation_failed'
}

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  // Limited, because a body may have thousands of unknown members.
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, limits.errors_listed_max)
      .map((key) => ({ path: toPointer([...issue.path, key]), message: 'is unknown' }))
  }
  return [{ path: toPointer(issue.path), message: toMessage(issue) }]
}

function toMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type')
    return `must be ${/^[aio]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`
  if (issue.code === 'too_small')
    return `must ${issue.origin === 'number' ? 'be' : 'have'} at least ${issue.minimum}`
  if (issue.code === 'too_big')
    return `must ${issue.origin === 'number' ? 'be' : 'have'} at most ${issue.maximum}`
  return issue.message
}

// Shorter than any token or key, in case one was sent as a name.
const MEMBER_CHARS_SHOWN = 40

/** Member names come from the caller, so long or unprintable ones are not shown. */
function toPointer(path: readonly PropertyKey[]): string {
  return path.map((step) => (isLine(String(step), MEMBER_CHARS_SHOWN) ? String(step) : '…')).join('.')
}

type JsonSchema = z.core.GlobalMeta & Record<string, unknown>

/**
 * A schema that fails with `code` for every invalid value; a missing member is `validation_failed`.
 * `documented` is its JSON Schema.
 */
export function coded<T>(
  code: ProblemCode | ((value: unknown) => ProblemCode),
  isValid: (value: unknown) => boolean,
  message: string,
  documented: JsonSchema,
): z.ZodType<T, T> {
  const schema = z.unknown().check(({ value, issues }) => {
    if (isValid(value)) return
    const own = typeof code === 'function' ? code(value) : code
    issues.push({
      code: 'custom',
      input: value,
      message,
      params: { code: value === undefined ? 'validation_failed' : own },
    })
  })
  return schema.meta(documented) as z.ZodType as z.ZodType<T, T>
}

/**
 * Like `coded`, for strings: only an invalid string has the code; any other type is
 * `validation_failed`.
 */
export function codedText<T extends string = string>(
  code: ProblemCode,
  isValid: (value: string) => boolean,
  message: string,
  documented: JsonSchema,
): z.ZodType<T, string> {
  const fits = (value: unknown) => typeof value === 'string' && isValid(value)
  const codeFor = (value: unknown) => (typeof value === 'string' ? code : 'validation_failed')
  return coded<string>(codeFor, fits, message, { type: 'string', ...documented }) as z.ZodType as z.ZodType<
    T,
    string
  >
}

/** RFC 9457 problem details, the body of every error. */
export const problemDetailsSchema = z
  .strictObject({
    type: z.string().meta({ format: 'uri', description: 'The page that explains the code.' }),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().meta({ description: 'What is wrong and what to do.' }),
    code: z.enum(problemCodes as [ProblemCode, ...ProblemCode[]]),
    request_id: z.string(),
    errors: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .max(limits.errors_listed_max)
      .optional(),
    required_scope: z.array(z.string()).max(limits.scope_list_max).optional(),
    retry_after: z.int().min(0).optional().meta({ description: 'In seconds, as in Retry-After.' }),
    tries_left: z.int().min(0).max(limits.sign_in_tries_max).optional().meta({
      description: 'Only at /auth/present: the number of remaining tries for this sign-in.',
    }),
    err: z
      .enum(securityEventErrors)
      .optional()
      .meta({ description: 'Only where security events are received: the error code of RFC 8935.' }),
    description: z
      .string()
      .optional()
      .meta({ description: 'Only where security events are received: the same as detail.' }),
  })
  .meta({ id: 'Problem' })
