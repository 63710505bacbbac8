import * as z from 'zod'
import { limits } from './limits.ts'
import type { FieldError } from './problem-body.ts'
import { type ProblemCode, problemCodes, problems } from './problems.ts'
import { isLine } from './text.ts'

/** The part of a request that a schema was applied to. */
export type RequestPart = 'params' | 'query' | 'headers' | 'body'

/** What a failed validation is answered with. */
export interface ValidationProblem {
  readonly code: ProblemCode
  readonly errors: readonly FieldError[]
}

/**
 * The problem behind a failed validation. A path that fits no grammar is `not_found`, as if nothing
 * were there. Otherwise a fault with a 400 of its own goes first, then the one code that all faults
 * share, then `validation_failed`. Values that were sent are never repeated.
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
  // Only as many as can be listed: a body may bring thousands of unknown members.
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, limits.errors_listed_max)
      .map((key) => ({ path: toPointer([...issue.path, key]), message: 'is not known here' }))
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

// Shorter than any token or key, should one have been sent as a name.
const MEMBER_CHARS_SHOWN = 40

/** Member names come from the caller, so they are shown only while they are short and printable. */
function toPointer(path: readonly PropertyKey[]): string {
  return path.map((step) => (isLine(String(step), MEMBER_CHARS_SHOWN) ? String(step) : '…')).join('.')
}

type JsonSchema = z.core.GlobalMeta & Record<string, unknown>

/**
 * A schema whose every failure, of type or of value, carries a code of its own; only a missing
 * member is the ordinary `validation_failed`. `documented` is what JSON Schema says of it.
 */
export function coded<T>(
  code: ProblemCode | ((value: unknown) => ProblemCode),
  holds: (value: unknown) => boolean,
  message: string,
  documented: JsonSchema,
): z.ZodType<T, T> {
  const schema = z.unknown().check(({ value, issues }) => {
    if (holds(value)) return
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
 * For texts whose bad spelling has a code of its own, while anything but a text is simply not
 * valid.
 */
export function codedText<T extends string = string>(
  code: ProblemCode,
  holds: (value: string) => boolean,
  message: string,
  documented: JsonSchema,
): z.ZodType<T, string> {
  const fits = (value: unknown) => typeof value === 'string' && holds(value)
  const codeFor = (value: unknown) => (typeof value === 'string' ? code : 'validation_failed')
  return coded<string>(codeFor, fits, message, { type: 'string', ...documented }) as z.ZodType as z.ZodType<
    T,
    string
  >
}

/** RFC 9457 problem details, as every refusal is answered. */
export const problemDetailsSchema = z
  .strictObject({
    type: z.string().meta({ format: 'uri', description: 'The page that explains the code.' }),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().meta({ description: 'What is wrong and what to do next.' }),
    code: z.enum(problemCodes as [ProblemCode, ...ProblemCode[]]),
    request_id: z.string(),
    errors: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .max(limits.errors_listed_max)
      .optional(),
    required_scope: z.array(z.string()).max(limits.scope_list_max).optional(),
    retry_after: z.int().min(0).optional().meta({ description: 'Seconds; the same as Retry-After.' }),
    tries_left: z.int().min(0).max(limits.sign_in_tries_max).optional().meta({
      description: 'Only at /auth/present: how many credentials can still be presented for this sign-in.',
    }),
  })
  .meta({ id: 'Problem' })
