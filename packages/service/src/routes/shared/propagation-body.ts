import { formatTime } from '@countersign/core'
import { limits, type Propagation } from '@countersign/core/contract'
import type { Receipt, VerifierReport } from '../../feed/receipt.ts'

/** A receipt as JSON. Long lists are truncated. */
export function toPropagationBody(receipt: Receipt): Propagation {
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
    verifiers: toReports(receipt.verifiers, ({ state, seq, acknowledgedAtMs, rejectsFromMs }) => ({
      state,
      seq,
      acknowledged_at: toTime(acknowledgedAtMs),
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

/** Rounded up, so that the time is never too early. */
function toTime(ms: number | undefined): string | null {
  return ms === undefined ? null : formatTime(Math.ceil(ms))
}
