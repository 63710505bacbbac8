import { formatTime } from '@countersign/core'
import type { Verifier } from '@countersign/core/contract'
import { loadRoster, loadVerifier } from '../../../actions/load-roster.ts'
import type { Deps } from '../../../deps.ts'
import { type RosterEntry, toRosterName } from '../../../feed/roster.ts'
import type { Route } from '../../../route.ts'
import type { Site } from '../../../store/operations/sites.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const dismissVerifier: Route<'dismiss_verifier'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  await deps.verifiers.dismiss(siteId, request.params.instance_id, auditContext(request, deps))
  return { status: 204 }
}

/** Each page is of its own moment. */
export const listVerifiers: Route<'list_verifiers'> = async (request, deps) => {
  const site = await requireSiteInPath(request, deps)
  const { state } = request.query
  return answerPage(
    request,
    deps,
    `verifiers ${site.siteId} ${state ?? ''}`,
    ({ after = '', limit }) =>
      deps.verifiers.query(requireKeyId(request.caller), site.siteId, () =>
        loadRoster(deps, site, { state, after, limit }),
      ),
    toRosterName,
    (entry) => toVerifierBody(deps, site, entry),
  )
}

export const readVerifier: Route<'read_verifier'> = async (request, deps) => {
  const site = await requireSiteInPath(request, deps)
  const load = () => loadVerifier(deps, site, request.params.instance_id)
  const entry = await deps.verifiers.query(requireKeyId(request.caller), site.siteId, load)
  return { status: 200, body: toVerifierBody(deps, site, entry) }
}

function toVerifierBody(
  { views, verifierClocks }: Pick<Deps, 'views' | 'verifierClocks'>,
  { siteId }: Site,
  entry: RosterEntry,
): Verifier {
  const { lease, seq } = entry
  const headSeq = views.view(siteId)?.head.seq ?? 0
  const differenceMs = lease && verifierClocks.differenceMs(lease)
  return {
    verifier_id: entry.verifierId,
    instance_id: lease?.instanceId ?? null,
    key_id: entry.keyId,
    state: entry.state,
    expected: entry.isExpected,
    node_id: entry.nodeId ?? null,
    version: lease?.version || null,
    max_staleness_seconds: lease === undefined ? null : lease.boundMs / 1000,
    fails_open: lease?.failsOpen ?? false,
    first_seen_at: formatTime(lease?.openedAtMs ?? entry.connectedAtMs),
    connected_at: formatTime(entry.connectedAtMs),
    seq,
    lag: Math.max(0, headSeq - seq),
    acknowledged_at: toOptionalTime(entry.acknowledgedAtMs),
    rejects_everything_since: toOptionalTime(entry.rejectsSinceMs),
    retired_at: toOptionalTime(entry.retiredAtMs),
    retired_by: entry.retiredBy ?? null,
    ...(differenceMs === undefined ? {} : { clock_difference_ms: Math.round(differenceMs) }),
  }
}
