import type { Site } from '../store/operations/sites.ts'

/** What users see of the look of a site. */
export interface ShownBrand {
  readonly logoPath: string | undefined
  /** `#rrggbb`, in lower case. */
  readonly accent: string | undefined
  readonly supportUrl: string | undefined
  readonly privacyUrl: string | undefined
}

export function toShownBrand({ siteId, brand }: Pick<Site, 'siteId' | 'brand'>): ShownBrand {
  const { logo, accent, supportUrl, privacyUrl } = brand
  const logoPath = logo && `/logos/${siteId}/${logo.sha256}`
  return { logoPath, accent, supportUrl, privacyUrl }
}

/** The same as members of a response. */
export function toBrandBody(site: Pick<Site, 'siteId' | 'brand'>) {
  const { logoPath, accent, supportUrl, privacyUrl } = toShownBrand(site)
  return {
    logo_path: logoPath ?? null,
    accent: accent ?? null,
    support_url: supportUrl ?? null,
    privacy_url: privacyUrl ?? null,
  }
}
