import { changeSite as change } from '../../../actions/change-site.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import type { SiteChanges } from '../../../store/operations/sites.ts'
import { toWaitingCaller } from '../../shared/audit-context.ts'
import { toBrandChanges } from '../../shared/brand-changes.ts'
import { requireOwnPath, requireSiteInPath } from '../../shared/site-access.ts'
import { withPropagation } from '../../shared/with-propagation.ts'
import { toSiteBody } from '../sites.ts'

export const readSite: Route<'read_site'> = async (request, deps) => {
  return { status: 200, body: toSiteBody(await requireSiteInPath(request, deps)) }
}

export const changeSite: Route<'change_site'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const requireSite = async () => {
    if ((await deps.store.site(params.site_id)) === undefined) throw new Problem('not_found')
  }
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
    ...(await toBrandChanges(request, params.site_id, deps, requireSite)),
  }
  const { site_id: siteId } = params
  const { confirm } = toWaitingCaller(request, deps)
  const changed = await change(deps, siteId, changes, await confirm())
  return withPropagation(request, deps, siteId, changed.entry, toSiteBody(changed))
}
