import { formatTime } from '@countersign/core'
import { limits, type Site as SiteBody } from '@countersign/core/contract'
import { createSite as create, siteExists } from '../../actions/create-site.ts'
import { ensureOwnIssuer } from '../../actions/own-issuer.ts'
import { toBrandBody } from '../../brand/shown-brand.ts'
import { waitForLocalView } from '../../log/wait-for-local-view.ts'
import { Problem } from '../../problem.ts'
import type { Route } from '../../route.ts'
import type { Site } from '../../store/operations/sites.ts'
import { answerRepeated } from '../shared/answer-repeated.ts'
import { toWaitingCaller } from '../shared/audit-context.ts'
import { toBrandChanges } from '../shared/brand-changes.ts'
import { answerPage } from '../shared/paging.ts'

export const createSite: Route<'create_site'> = async (request, deps) => {
  if (request.caller.kind !== 'operator')
    throw new Problem('api_key_forbidden', 'This key cannot create sites. Use an operator key.')
  const { body } = request
  const requireNew = async () => {
    if ((await deps.store.site(body.site_id)) !== undefined) throw siteExists(body.site_id)
  }
  const { confirm } = toWaitingCaller(request, deps)
  const make = async () => {
    const brand = await toBrandChanges(request, body.site_id, deps, requireNew)
    const site = await create(
      deps,
      {
        siteId: body.site_id,
        name: body.name,
        returnUrls: body.return_urls ?? [],
        hosts: body.hosts,
        bearer: body.bearer ?? 'on',
        holderProof: body.holder_proof ?? 'optional',
        delegation: body.delegation ?? 'on',
        credentialTtlSecondsMax: body.credential_ttl_seconds_max,
        maxStalenessSecondsMax: body.max_staleness_seconds_max ?? limits.max_age_seconds_default,
      },
      await confirm(),
      brand,
    )
    return toSiteBody(site)
  }
  return answerRepeated(request, make, async () => {
    const site = await deps.store.site(body.site_id)
    if (site === undefined) return undefined
    await waitForLocalView(deps, await ensureOwnIssuer(deps, site.siteId, await confirm()))
    return toSiteBody(site)
  })
}

/** A key of a site sees that site only, as if there were no others. */
export const listSites: Route<'list_sites'> = async (request, deps) => {
  const { caller } = request
  const own = caller.kind === 'site' ? caller.siteId : undefined
  if (own === undefined && caller.kind !== 'operator') throw new Problem('api_key_forbidden')
  return answerPage(
    request,
    deps,
    `sites ${own ?? '*'}`,
    async (page) => {
      if (own === undefined) return deps.store.sites(page)
      const site = page.after === undefined ? await deps.store.site(own) : undefined
      return site === undefined ? [] : [site]
    },
    ({ siteId }) => siteId,
    toSiteBody,
  )
}

/** A site in a response, without its pairwise secret. */
export function toSiteBody(site: Site): SiteBody {
  return {
    site_id: site.siteId,
    name: site.name ?? null,
    return_urls: [...site.returnUrls],
    hosts: site.hosts === undefined ? null : [...site.hosts],
    bearer: site.bearer,
    holder_proof: site.holderProof,
    delegation: site.delegation,
    credential_ttl_seconds_max: site.credentialTtlSecondsMax ?? null,
    max_staleness_seconds_max: site.maxStalenessSecondsMax,
    logo_url: site.brand.logo?.url ?? null,
    ...toBrandBody(site),
    created_at: formatTime(site.createdAtMs),
  }
}
