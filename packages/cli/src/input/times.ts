import { UsageError } from '../command.ts'

/**
 * Parses a time in RFC 3339 to milliseconds; undefined when none was given. Throws a `UsageError`
 * for anything else.
 */
export function parseTimeOption(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (Number.isNaN(ms)) throw new UsageError(`${flag} must be a time such as ${new Date().toISOString()}`)
  return ms
}
