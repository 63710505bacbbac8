import { Misuse } from './command.ts'

/**
 * A time as people give it, in milliseconds; undefined when there is none. Throws a `Misuse` for
 * anything but RFC 3339.
 */
export function timeOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (Number.isNaN(ms)) throw new Misuse(`${flag} must be a time such as ${new Date().toISOString()}`)
  return ms
}
