import { Problem } from '../problem.ts'
import type { BodyForm } from './body.ts'
import type { RawRequest } from './raw-request.ts'

/**
 * Throws `csrf_invalid` unless the browser says that the request comes from a page of this service.
 * A request with a cookie must carry Origin or Sec-Fetch-Site; a client that is not a browser has
 * no cookie that another site could abuse.
 *
 * A form on a page without a referrer has the origin `null` (Fetch §3.2), so forms may have it: a
 * form is protected by the token in it, which its route checks.
 */
export function requireSameOrigin(
  { lines }: Pick<RawRequest, 'lines'>,
  origin: string,
  form: BodyForm,
): void {
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
