import type { SiteId } from '@countersign/core'
import { parseLinkUrl, parseLogoUrl, parseSupportUrl } from '@countersign/core/contract'
import { loadLogo } from '../../actions/load-logo.ts'
import type { Deps } from '../../deps.ts'
import type { RouteRequest } from '../../route.ts'
import type { BrandChanges } from '../../store/operations/shared/brand-rows.ts'

/** The look of a site as callers send it. */
interface BrandBody {
  readonly logo_url?: string | null | undefined
  readonly accent?: string | null | undefined
  readonly support_url?: string | null | undefined
  readonly privacy_url?: string | null | undefined
}

/**
 * Addresses and colours as they were parsed, not as they were sent. Fetches the logo after
 * `beforeFetch`, which throws when there is no need for it. The host may take long, so callers
 * confirm who they are again afterwards.
 */
export async function toBrandChanges(
  { body, releaseWhile }: Pick<RouteRequest, 'releaseWhile'> & { readonly body: BrandBody },
  siteId: SiteId,
  deps: Pick<Deps, 'logos' | 'log'>,
  beforeFetch: () => Promise<void>,
): Promise<BrandChanges> {
  const { logo_url, accent, support_url: support, privacy_url: privacy } = body
  const logoUrl = parseLogoUrl(logo_url)
  if (logoUrl !== undefined) await beforeFetch()
  const logo = logoUrl && (await releaseWhile(loadLogo(deps, siteId, logoUrl)))
  return {
    ...(accent === undefined ? {} : { accent: accent?.toLowerCase() ?? null }),
    ...(support === undefined ? {} : { supportUrl: parseSupportUrl(support)?.href ?? null }),
    ...(privacy === undefined ? {} : { privacyUrl: parseLinkUrl(privacy)?.href ?? null }),
    ...(logo_url === undefined ? {} : { logo: logo ?? null }),
  }
}
