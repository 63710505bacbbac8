import { parseLinkUrl, parseLogoUrl, parseSupportUrl } from '@countersign/core/contract'
import { changeSite as change } from '../../../actions/change-site.ts'
import { loadLogo } from '../../../actions/load-logo.ts'
import type { Deps } from '../../../deps.ts'
import type { Route, RouteRequest } from '../../../route.ts'
import type { BrandChanges } from '../../../store/operations/shared/brand-rows.ts'
import type { SiteChanges } from '../../../store/operations/sites.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { requireOwnPath, requireSiteInPath } from '../../shared/site-access.ts'
import { withPropagation } from '../../shared/with-propagation.ts'
import { toSiteBody } from '../sites.ts'

export const readSite: Route<'read_site'> = async (request, deps) => {
  return { status: 200, body: toSiteBody(await requireSiteInPath(request, deps)) }
}

export const changeSite: Route<'change_site'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const changes: SiteChanges = {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.return_urls === undefined ? {} : { returnUrls: body.return_urls }),
    ...(body.hosts === undefined ? {} : { hosts: body.hosts }),
    ...(body.bearer === undefined ? {} : { bearer: body.bearer }),
    ...(body.holder_proof === undefined ? {} : { holderProof: body.holder_proof }),
    ...(body.delegation === undefined ? {} : { delegation: body.delegation }),
    ...(body.credential_ttl_seconds_max === undefined
      ? {}
      : { credentialTtlSecondsMax: body.credential_ttl_seconds_max }),
    ...(body.max_staleness_seconds_max === undefined
      ? {}
      : { maxStalenessSecondsMax: body.max_staleness_seconds_max }),
    ...(await toBrandChanges(request, deps)),
  }
  const { site_id: siteId } = params
  const changed = await change(deps, siteId, changes, auditContext(request, deps))
  return withPropagation(request, deps, siteId, changed.entry, toSiteBody(changed))
}

/** Addresses and colours as they were parsed, not as they were sent. Fetches the logo. */
async function toBrandChanges(
  { body, params }: Pick<RouteRequest<'change_site'>, 'body' | 'params'>,
  deps: Deps,
): Promise<BrandChanges> {
  const { accent, support_url: support, privacy_url: privacy, logo_url } = body
  const logoUrl = parseLogoUrl(logo_url)
  const logo = logoUrl && (await loadLogo(deps, params.site_id, logoUrl))
  return {
    ...(accent === undefined ? {} : { accent: accent?.toLowerCase() ?? null }),
    ...(support === undefined ? {} : { supportUrl: parseSupportUrl(support)?.href ?? null }),
    ...(privacy === undefined ? {} : { privacyUrl: parseLinkUrl(privacy)?.href ?? null }),
    ...(logo_url === undefined ? {} : { logo: logo ?? null }),
  }
}
