import type { SiteId } from '@countersign/core'
import { optionalText } from '../../columns.ts'
import { exec, type Row, type Transaction } from '../../transaction.ts'
import { insertRow, intact } from './mac-rows.ts'

/** How a site looks on hosted pages. */
export interface SiteBrand {
  readonly logo: BrandLogo | undefined
  /** `#rrggbb`, in lower case. */
  readonly accent: string | undefined
  readonly supportUrl: string | undefined
  readonly privacyUrl: string | undefined
}

interface BrandLogo {
  /** Where it was fetched from. */
  readonly url: string
  readonly sha256: string
  readonly type: string
}

/** A logo with its bytes. */
export interface FetchedLogo extends BrandLogo {
  readonly bytes: Uint8Array
}

/** Null removes a member. */
export interface BrandChanges {
  readonly logo?: FetchedLogo | null | undefined
  readonly accent?: string | null | undefined
  readonly supportUrl?: string | null | undefined
  readonly privacyUrl?: string | null | undefined
}

/** To be joined to `sites`, so that a site is still one statement. */
export const SITES_WITH_BRANDS = `
  SELECT s.*, b.logo_url, b.logo_sha256, b.logo_type, b.accent, b.support_url, b.privacy_url,
    b.mac AS brand_mac
  FROM sites s LEFT JOIN site_brands b ON b.site_id = s.site_id`

/**
 * The look of a site in a row of `SITES_WITH_BRANDS`. One that the service did not write is
 * reported and ignored: the site works without it.
 */
export function* readBrand(joined: Row): Transaction<SiteBrand> {
  const { brand_mac: mac = null } = joined
  const found = mac === null ? undefined : yield* intact('site_brands', { ...joined, mac })
  return found === undefined ? NO_BRAND : toBrand(found)
}

export const NO_BRAND: SiteBrand = {
  logo: undefined,
  accent: undefined,
  supportUrl: undefined,
  privacyUrl: undefined,
}

function toBrand(found: Row): SiteBrand {
  const url = optionalText(found, 'logo_url')
  const sha256 = optionalText(found, 'logo_sha256')
  const type = optionalText(found, 'logo_type')
  return {
    logo: url === undefined || sha256 === undefined || type === undefined ? undefined : { url, sha256, type },
    accent: optionalText(found, 'accent'),
    supportUrl: optionalText(found, 'support_url'),
    privacyUrl: optionalText(found, 'privacy_url'),
  }
}

/** Applies changes. The caller blocks other writers of the site. */
export function* changeBrand(
  siteId: SiteId,
  before: SiteBrand,
  { logo, accent, supportUrl, privacyUrl }: BrandChanges,
): Transaction<SiteBrand> {
  if (logo === undefined && accent === undefined && supportUrl === undefined && privacyUrl === undefined)
    return before
  const after: SiteBrand = {
    logo:
      logo === undefined
        ? before.logo
        : logo === null
          ? undefined
          : { url: logo.url, sha256: logo.sha256, type: logo.type },
    accent: accent === undefined ? before.accent : (accent ?? undefined),
    supportUrl: supportUrl === undefined ? before.supportUrl : (supportUrl ?? undefined),
    privacyUrl: privacyUrl === undefined ? before.privacyUrl : (privacyUrl ?? undefined),
  }
  // A row that the service did not write is replaced too.
  yield* exec('DELETE FROM site_brands WHERE site_id = $1', siteId)
  yield* insertRow('site_brands', {
    site_id: siteId,
    logo_url: after.logo?.url ?? null,
    logo_sha256: after.logo?.sha256 ?? null,
    logo_type: after.logo?.type ?? null,
    accent: after.accent ?? null,
    support_url: after.supportUrl ?? null,
    privacy_url: after.privacyUrl ?? null,
  })
  if (logo !== undefined) yield* exec('DELETE FROM site_logos WHERE site_id = $1', siteId)
  if (logo) yield* exec('INSERT INTO site_logos (site_id, logo) VALUES ($1, $2)', siteId, logo.bytes)
  return after
}
