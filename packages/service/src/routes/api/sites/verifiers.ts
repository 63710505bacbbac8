import { formatTime } from '@countersign/core'
import type { Verifier } from '@countersign/core/contract'
import { isConnected, isSilent } from '../../../feed/receipt.ts'
import type { VerifierClocks } from '../../../feed/verifier-clocks.ts'
import type { ConnectedVerifiers } from '../../../feed/verifier-registry.ts'
import type { Route } from '../../../route.ts'
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

/** The verifiers that are connected now, so each page is of its own moment. */
export const listVerifiers: Route<'list_verifiers'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const headSeq = deps.views.view(siteId)?.head.seq ?? 0
  return answerPage(
    request,
    deps,
    `verifiers ${siteId}`,
    async ({ after = '', limit }) => {
      const found = await deps.verifiers.query(requireKeyId(request.caller), siteId, () =>
        deps.verifiers.connected(siteId),
      )
      const named = listed(found, headSeq, deps.clock.clocks().wallMs, deps.verifierClocks)
      const rest = named
        .filter(({ name }) => name > after)
        .sort((one, other) => (one.name < other.name ? -1 : 1))
      return rest.slice(0, limit)
    },
    ({ name }) => name,
    ({ verifier }) => verifier,
  )
}

interface ListedVerifier {
  readonly name: string
  readonly verifier: Verifier
}

/** Several instances may have one name, and two keys may have a verifier of the same name. */
function listed(
  { leases, streams }: ConnectedVerifiers,
  headSeq: number,
  nowMs: number,
  clocks: VerifierClocks,
) {
  const toLag = (seq: number) => Math.max(0, headSeq - seq)
  return [
    ...leases.map(
      (lease): ListedVerifier => ({
        name: `${lease.verifierId} ${lease.keyId} ${lease.instanceId}`,
        verifier: {
          verifier_id: lease.verifierId,
          instance_id: lease.instanceId,
          state: !isConnected(lease, nowMs)
            ? 'not_connected'
            : isSilent(lease, nowMs)
              ? 'silent'
              : 'connected',
          max_staleness_seconds: lease.boundMs / 1000,
          fails_open: lease.failsOpen,
          connected_at: formatTime(lease.connectedAtMs),
          seq: lease.seq,
          lag: toLag(lease.seq),
          acknowledged_at: toOptionalTime(lease.heardAtMs || undefined),
          ...toClockDifference(clocks.differenceMs(lease)),
        },
      }),
    ),
    ...streams.map(
      (reader): ListedVerifier => ({
        name: `${reader.verifierId} ${reader.keyId}`,
        verifier: {
          verifier_id: reader.verifierId,
          instance_id: null,
          state: 'connected',
          max_staleness_seconds: null,
          fails_open: false,
          connected_at: formatTime(reader.connectedAtMs),
          seq: reader.seq,
          lag: toLag(reader.seq),
          acknowledged_at: toOptionalTime(reader.acknowledgedAtMs),
        },
      }),
    ),
  ]
}

function toClockDifference(ms: number | undefined): Pick<Verifier, 'clock_difference_ms'> {
  return ms === undefined ? {} : { clock_difference_ms: Math.round(ms) }
}
