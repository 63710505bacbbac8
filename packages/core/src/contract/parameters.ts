import { limits } from './limits.ts'

/**
 * Query or form parameters as an object for a schema. Names in `lists` become arrays. Undefined if
 * another parameter is repeated, which is `request_malformed`.
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
  // fromEntries defines members instead of assigning them, so `__proto__` is an ordinary name.
  return Object.fromEntries(found)
}

/**
 * The seconds of a `Prefer: wait=N` header (RFC 7240 §4.3). Undefined if there is none, if it is
 * malformed, or if it exceeds `secondsMax`: an unsupported preference is not an error.
 */
export function parsePreferWait(
  header: string | undefined,
  secondsMax: number = limits.wait_seconds_max,
): number | undefined {
  for (const preference of header?.split(',') ?? []) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,4})"?\s*(?:;.*)?$/i.exec(preference) ?? []
    // The first of several preferences with one name is used (RFC 7240 §2).
    if (seconds !== undefined) return Number(seconds) <= secondsMax ? Number(seconds) : undefined
  }
  return undefined
}

/** Whether a `Prefer` header asks to wait until the revoked credential is denied everywhere. */
export function prefersDeniedEverywhere(header: string | undefined): boolean {
  return header?.split(',').some((preference) => /^\s*denied-everywhere\s*$/i.test(preference)) ?? false
}

const REQUEST_ID = new RegExp(`^[A-Za-z0-9._-]{1,${limits.request_id_chars_max}}$`)

/**
 * Undefined unless the id is safe to return and to log: 1 to 128 of `[A-Za-z0-9._-]`. The service
 * generates an id otherwise.
 */
export function parseRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : undefined
}
