import { type DrillReportFields, formatTime, parseTime, signDrillReport } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'

export interface DrillReportParts {
  readonly store: Pick<Store, 'runningDrills' | 'receipt' | 'endDrill'>
  readonly clock: Pick<Clock, 'clocks'>
  readonly keys: Pick<ServiceKeys, 'feedKey'>
}

const DRILLS_MAX = 50

/**
 * Writes the reports of drills whose receipts are complete or whose time is over. The receipts come
 * first, so a drill is reported after a crash, too. Returns whether drills are still running.
 */
export async function endDrills(
  { store, clock, keys }: DrillReportParts,
  takeTurn: () => Promise<boolean>,
): Promise<boolean> {
  const running = await store.runningDrills(DRILLS_MAX)
  let left = running.length
  for (const { siteId, drillId, credentialId, epoch, seq, startedAtMs } of running) {
    const receipt = await store.receipt(siteId, seq)
    if (receipt === undefined || receipt.epoch !== epoch) continue
    const asOfMs = parseTime(receipt.as_of) ?? 0
    if (receipt.state !== 'complete' && asOfMs - startedAtMs < limits.drill_seconds * 1000) continue
    if (!(await takeTurn())) return true
    const { kid, key } = keys.feedKey(Math.ceil(clock.clocks().wallMs))
    const fields: DrillReportFields = {
      site_id: siteId,
      drill_id: drillId,
      credential_id: credentialId,
      started_at: formatTime(startedAtMs),
      ended_at: receipt.as_of,
      outcome: receipt.state === 'complete' ? 'complete' : 'incomplete',
      receipt,
      kid,
    }
    await store.endDrill(await signDrillReport(fields, key), asOfMs)
    left--
  }
  return left > 0
}
