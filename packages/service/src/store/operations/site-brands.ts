import { hash } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import { bytes, text } from '../columns.ts'
import { read, row, type Transaction } from '../transaction.ts'
import { intact } from './shared/mac-rows.ts'

export interface SiteLogo {
  readonly type: string
  readonly bytes: Uint8Array
}

/**
 * The logo of a site. Undefined when the site has none with this hash, or when the service did not
 * write it.
 */
export const siteLogo = read(function* (siteId: SiteId, sha256: string): Transaction<SiteLogo | undefined> {
  const found = yield* intact(
    'site_brands',
    yield* row('SELECT * FROM site_brands WHERE site_id = $1 AND logo_sha256 = $2', siteId, sha256),
  )
  const kept = found && (yield* row('SELECT logo FROM site_logos WHERE site_id = $1', siteId))
  if (found === undefined || kept === undefined) return undefined
  const logo = bytes(kept, 'logo')
  return hash('sha256', logo) === sha256 ? { type: text(found, 'logo_type'), bytes: logo } : undefined
})
