import { Problem } from '../problem.ts'
import type { BodyForm } from './body.ts'
import type { Incoming } from './incoming.ts'

/**
 * Throws `csrf_invalid` unless the request comes from a page of our own, as far as the browser
 * tells. A request with a cookie must have such a header; a client that is no browser has no cookie
 * that another site could make use of.
 *
 * A form on a page that sends no referrer has the origin `null` (Fetch §3.2), so a form may have
 * it; what proves a form is the token in it, which its route asks for.
 */
export function requireOwnPage({ lines }: Pick<Incoming, 'lines'>, origin: string, form: BodyForm): void {
  const site = lines('sec-fetch-site')
  const from = lines('origin')
  if (site !== undefined && !isOnly(site, 'same-origin')) throw new Problem('csrf_invalid')
  if (from !== undefined && !isOnly(from, origin) && !(form === 'form' && isOnly(from, 'null')))
    throw new Problem('csrf_invalid')
  const isUnproven = site === undefined && from === undefined && form !== 'form'
  if (isUnproven && lines('cookie') !== undefined) throw new Problem('csrf_invalid')
}

function isOnly(lines: readonly string[], value: string): boolean {
  return lines.length === 1 && lines[0] === value
}
