import type { RouteRequest } from '../route.ts'

/** More is not read: no browser sends so much. */
const CHARS_MAX = 2048

/**
 * Whether the client asks for a page, as browsers do: `text/html` is named, and JSON is not
 * preferred to it (RFC 9110 §12.5.1). Programs ask for JSON or for anything.
 */
export function acceptsPage(lines: RouteRequest['lines']): boolean {
  const ranges = (lines('accept') ?? []).join(',').slice(0, CHARS_MAX).toLowerCase().split(',')
  let page = 0
  let json = 0
  for (const range of ranges) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const quality = readQuality(parameters)
    if (type === 'text/html' || type === 'application/xhtml+xml') page = Math.max(page, quality)
    if (type === 'application/json' || type === 'application/problem+json') json = Math.max(json, quality)
  }
  return page > 0 && page >= json
}

/** The weight of a media range; 0 if it cannot be read. */
function readQuality(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))
  if (weight === undefined) return 1
  const [, value] = /^q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(weight) ?? []
  return value === undefined ? 0 : Number(value)
}
