import { headerNames } from '@countersign/core/contract'
import { Problem } from '../../../../problem.ts'
import type { Route } from '../../../../route.ts'
import { requireKeyId } from '../../../shared/require-key-id.ts'
import { requireOwnPath } from '../../../shared/site-access.ts'

/** Counted in memory and written later, so that a report costs no write. */
export const reportVerdicts: Route<'report_verdicts'> = async ({ caller, params, body, lines }, deps) => {
  requireOwnPath(caller, params.site_id)
  // Sites that do not exist must not take up memory.
  if (deps.views.view(params.site_id) === undefined) throw new Problem('not_found')
  const reporter = {
    keyId: requireKeyId(caller),
    verifierId: lines(headerNames.verifierId)?.[0],
    instanceId: lines(headerNames.verifierInstance)?.[0],
  }
  deps.tallies.add(params.site_id, reporter, body.tallies)
  return { status: 204 }
}
