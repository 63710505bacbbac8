import { limits } from './limits.ts'

/**
 * Query or form parameters as one object for a schema: names in `lists` become arrays, all others
 * stand once. Undefined when one of the others is repeated, which is `request_malformed`.
 */
export function parseParameters(
  pairs: Iterable<readonly [name: string, value: string]>,
  lists: readonly string[] = [],
): Record<string, string | string[]> | undefined {
  const found = new Map<string, string | string[]>()
  for (const [name, value] of pairs) {
    const earlier = found.get(name)
    if (Array.isArray(earlier)) earlier.push(value)
    else if (earlier !== undefined) return undefined
    else found.set(name, lists.includes(name) ? [value] : value)
  }
  // fromEntries defines members and never assigns them, so `__proto__` is a name like any other.
  return Object.fromEntries(found)
}

/**
 * The seconds of a `Prefer: wait=N` header (RFC 7240 §4.3). Undefined when it asks for none, for
 * more than `secondsMax`, or cannot be read: a preference that cannot be met is not an error.
 */
export function parsePreferWait(
  header: string | undefined,
  secondsMax: number = limits.wait_seconds_max,
): number | undefined {
  for (const preference of header?.split(',') ?? []) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,4})"?\s*(?:;.*)?$/i.exec(preference) ?? []
    // RFC 7240 §2: of several with one name the first counts.
    if (seconds !== undefined) return Number(seconds) <= secondsMax ? Number(seconds) : undefined
  }
  return undefined
}

/**
 * Whether a `Prefer` header asks to wait until the revoked credential is denied everywhere, and not
 * only for acknowledgements.
 */
export function prefersDeniedEverywhere(header: string | undefined): boolean {
  return header?.split(',').some((preference) => /^\s*denied-everywhere\s*$/i.test(preference)) ?? false
}

const REQUEST_ID = new RegExp(`^[A-Za-z0-9._-]{1,${limits.request_id_chars_max}}$`)

/**
 * A request id that is safe to echo and to log: 1–128 of `[A-Za-z0-9._-]`. For anything else the
 * service makes its own.
 */
export function parseRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : undefined
}
