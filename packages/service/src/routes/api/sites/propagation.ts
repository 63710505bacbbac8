import { formatTime } from '@countersign/core'
import {
  limits,
  type PropagationReceipt,
  type PropagationStats,
  type StatsWindow,
  type TimeMeasure,
} from '@countersign/core/contract'
import { loadPropagation } from '../../../actions/propagation.ts'
import { type ApplyStats, loadPropagationStats } from '../../../actions/propagation-stats.ts'
import type { Route } from '../../../route.ts'
import { toPropagationBody } from '../../shared/propagation-body.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const propagationReceipt: Route<'propagation_receipt'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const read = () => loadPropagation(deps, siteId, request.query.seq)
  const { entry, receipt } = await deps.verifiers.query(requireKeyId(request.caller), siteId, read)
  const body: PropagationReceipt = {
    epoch: entry.epoch,
    seq: entry.seq,
    ...toPropagationBody(receipt, entry.atMs),
  }
  return { status: 200, body }
}

const WINDOWS_MS: Readonly<Record<StatsWindow, number>> = {
  '1h': 3_600_000,
  '24h': 86_400_000,
  '30d': 30 * 86_400_000,
}

export const propagationStats: Route<'propagation_stats'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { window } = request.query
  const stats = await loadPropagationStats(deps, siteId, WINDOWS_MS[window])
  const body: PropagationStats = {
    window,
    from: formatTime(stats.fromMs),
    as_of: formatTime(stats.asOfMs),
    ...toStatsBody(stats),
    buckets: stats.buckets.map(({ upToMs, count }) => ({ up_to_ms: upToMs, count })),
    verifiers: stats.verifiers.slice(0, limits.laggards_listed_max).map((verifier) => ({
      verifier_id: verifier.verifierId === '' ? null : verifier.verifierId,
      ...toStatsBody(verifier),
    })),
  }
  return { status: 200, body }
}

function toStatsBody({ samples, reported, p50Ms, p99Ms, maxMs }: ApplyStats) {
  return {
    samples,
    reported,
    measure: toMeasure(samples, reported),
    p50_ms: p50Ms ?? null,
    p99_ms: p99Ms ?? null,
    max_ms: maxMs ?? null,
  }
}

function toMeasure(samples: number, reported: number): TimeMeasure | null {
  if (samples === 0) return null
  return reported === 0 ? 'acknowledged' : reported === samples ? 'applied' : 'mixed'
}
