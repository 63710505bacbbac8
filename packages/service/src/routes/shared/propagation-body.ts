import { formatTime } from '@countersign/core'
import { limits, type Propagation } from '@countersign/core/contract'
import type { Receipt, VerifierReport } from '../../feed/receipt.ts'

/** A receipt as JSON. Long lists are truncated. */
export function toPropagationBody(receipt: Receipt, atMs: number): Propagation {
  const {
    connected,
    acknowledged,
    expected,
    elapsedMs,
    committedAtMs,
    deniedEverywhereAtMs,
    deniedAtLatestMs,
  } = receipt
  return {
    connected,
    acknowledged,
    expected,
    elapsed_ms: elapsedMs,
    committed_at: formatTime(committedAtMs),
    denied_everywhere_at: toTime(deniedEverywhereAtMs),
    denied_at_latest: formatTime(Math.ceil(deniedAtLatestMs)),
    laggards: toReports(receipt.pending, ({ seq }) => ({ seq })),
    verifiers: toReports(receipt.verifiers, ({ state, seq, rejectsFromMs, ...times }) => ({
      state,
      seq,
      acknowledged_at: toTime(times.acknowledgedAtMs),
      applied_ms: toDuration(times.appliedAtMs, atMs),
      first_denied_ms: toDuration(times.deniedAtMs, atMs),
      rejects_from: toTime(rejectsFromMs),
    })),
    exceptions: toReports(receipt.exceptions, () => ({ reason: 'fails_open' })),
  }
}

function toReports<Members extends object>(
  reports: readonly VerifierReport[],
  members: (report: VerifierReport) => Members,
) {
  return reports.slice(0, limits.laggards_listed_max).map((report) => ({
    verifier_id: report.verifierId,
    instance_id: report.instanceId ?? null,
    ...members(report),
  }))
}

function toDuration(ms: number | undefined, fromMs: number): number | null {
  return ms === undefined ? null : Math.max(0, Math.ceil(ms - fromMs))
}

/** Rounded up, so that the time is never too early. */
function toTime(ms: number | undefined): string | null {
  return ms === undefined ? null : formatTime(Math.ceil(ms))
}
