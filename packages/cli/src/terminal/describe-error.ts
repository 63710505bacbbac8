import type { CountersignError } from '@countersign/sdk'
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

const UNREACHABLE: ReadonlySet<string> = new Set(['no_answer', 'timed_out'])
const DENIED: ReadonlySet<string> = new Set([
  'api_key_missing',
  'api_key_invalid',
  'api_key_forbidden',
  'revocation_forbidden',
])

/** What to do next, for errors where the service itself cannot say it. */
const NEXT: Readonly<Record<string, string>> = {
  no_answer:
    'Check that the service runs and that the address is right. To start one for development: countersign dev. To diagnose: countersign doctor',
  timed_out: 'Try again. If it fails again, diagnose the service: countersign doctor',
  answer_unknown:
    'Another program answers at this address. Check the address, or diagnose it: countersign doctor',
  already_exists:
    'To change a site: countersign sites change <site_id>. To change an issuer: countersign issuers change <issuer>',
  api_key_missing: 'Set COUNTERSIGN_API_KEY or COUNTERSIGN_API_KEY_FILE.',
  api_key_invalid:
    'Check COUNTERSIGN_API_KEY or the file that COUNTERSIGN_API_KEY_FILE names: the key may be deleted, expired, or of another service.',
  api_key_forbidden:
    'To create a key of a site, with one that has site:admin: countersign keys create --permissions …. An operator key: countersign create-operator-key',
}

/** What the service advises to callers of its HTTP interface. `NEXT` names the command instead. */
const HTTP_ADVICE = / Change it with PATCH\.$/

/** Turns any thrown value into a message and an exit code. */
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
  if (!isCountersignError(fault)) {
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

function describeReason({ code, denial, message, cause }: CountersignError): string {
  // Its own detail is for programs: the errors follow, one on each line.
  if (code === 'validation_failed' && (denial?.errors ?? []).length > 0)
    return 'The service rejects these values. Correct them and try again. (validation_failed)'
  if (denial !== undefined) return `${visible(denial.detail).replace(HTTP_ADVICE, '')} (${visible(code)})`
  const deeper = findSystemCode(cause)
  return visible(`${message}${deeper === undefined ? '' : ` (${deeper})`}`)
}

/** `fetch` hides codes such as `ECONNREFUSED` one or two causes down. */
function findSystemCode(cause: unknown): string | undefined {
  for (let at: unknown = cause; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return undefined
}

/** By its name, so that the SDK need not be loaded. */
function isCountersignError(fault: unknown): fault is CountersignError {
  return fault instanceof Error && fault.name === 'CountersignError'
}
