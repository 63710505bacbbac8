import { CommandError, type ExitCode, UsageError } from '../command.ts'
import { visible } from './output.ts'

/** What went wrong, for people and programs. */
export interface ErrorDescription {
  readonly exit: ExitCode
  readonly code: string
  /** What is wrong, then what to do next. */
  readonly lines: readonly string[]
  readonly requestId: string | undefined
}

/** As the SDK throws it; told by its name, so that the SDK need not be loaded for it. */
interface ServiceError extends Error {
  readonly code: string
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly denial?: {
    readonly detail: string
    readonly errors?: readonly { readonly path: string; readonly message: string }[]
  }
}

const UNREACHABLE: ReadonlySet<string> = new Set(['no_answer', 'timed_out'])
const DENIED: ReadonlySet<string> = new Set([
  'api_key_missing',
  'api_key_invalid',
  'api_key_forbidden',
  'revocation_forbidden',
])

/** What to do about it, where the service cannot know. */
const NEXT: Readonly<Record<string, string>> = {
  no_answer:
    'Is it running, and is the address right? For development: countersign dev. To look closer: countersign doctor',
  timed_out: 'Try again; if it stays so: countersign doctor',
  answer_unknown: 'Something else answers at this address. Look closer: countersign doctor',
  api_key_missing: 'Set COUNTERSIGN_API_KEY or COUNTERSIGN_API_KEY_FILE.',
  api_key_invalid:
    'Look at COUNTERSIGN_API_KEY or the file of COUNTERSIGN_API_KEY_FILE: the key may be deleted, expired, or of another service.',
  api_key_forbidden:
    'Use a key that may do this: countersign keys create --permissions …, with a key that has site:admin.',
}

/**
 * Turns whatever was thrown into words and a code. What is not one of ours is a fault of this
 * program, and says so.
 */
export function describeError(fault: unknown): ErrorDescription {
  const words = (
    exit: ExitCode,
    code: string,
    lines: readonly string[],
    requestId?: string,
  ): ErrorDescription => ({
    exit,
    code,
    lines,
    requestId,
  })
  if (fault instanceof UsageError) return words(2, 'usage', [fault.message])
  if (fault instanceof CommandError) return words(fault.exit, fault.code, [fault.message])
  if (!isServiceError(fault)) {
    const text = fault instanceof Error ? fault.message : String(fault)
    return words(1, 'failed', [visible(text, { lines: true })])
  }
  const { code, denial, requestId } = fault
  const reason = describeReason(fault)
  const errors = (denial?.errors ?? []).map(({ path, message }) => `  ${visible(path)} ${visible(message)}`)
  const next = NEXT[code]
  const exit = UNREACHABLE.has(code) ? 5 : DENIED.has(code) ? 4 : 1
  return words(exit, code, [reason, ...errors, ...(next === undefined ? [] : [next])], requestId)
}

function describeReason({ code, denial, message, cause }: ServiceError): string {
  if (denial !== undefined) return `${visible(denial.detail)} (${visible(code)})`
  const deeper = findSystemCode(cause)
  return visible(`${message}${deeper === undefined ? '' : ` (${deeper})`}`)
}

/** `ECONNREFUSED` and the like stand a level or two down. */
function findSystemCode(cause: unknown): string | undefined {
  for (let at: unknown = cause; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return undefined
}

function isServiceError(fault: unknown): fault is ServiceError {
  return fault instanceof Error && fault.name === 'CountersignError'
}
