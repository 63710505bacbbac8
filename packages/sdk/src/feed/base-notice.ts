import type { Clocks, LogHead, SnapshotHead } from '@countersign/core'

/** Reports that a guard was behind the base of the log when it loaded a snapshot. */
export interface BaseNotice {
  /** Call it after a snapshot with this head replaced the proven head. */
  record(
    proven: LogHead | undefined,
    head: Pick<SnapshotHead, 'epoch' | 'base'>,
    carried: number,
    now: Clocks,
  ): void
  /** A problem to report for a while, although the guard has recovered. */
  problem(now: Clocks): { readonly code: string; readonly detail: string } | undefined
}

const REPORTED_MS = 600_000

export function createBaseNotice(): BaseNotice {
  let detail = ''
  let atMonotonicMs = -Infinity
  return {
    record(proven, { epoch, base }, carried, { monotonicMs }) {
      if (proven?.epoch !== epoch || proven.seq >= base.seq) return
      detail =
        `This guard had proof of the log up to position ${epoch}.${proven.seq}, and the service has removed the entries up to ${epoch}.${base.seq}. ` +
        'So the service could not show that its log continues from there. ' +
        `The guard loaded a snapshot and kept the ${carried} revocations that it lacks. ` +
        'If this guard was connected in the last year, run `countersign audit-log` on the service.'
      atMonotonicMs = monotonicMs
    },
    problem({ monotonicMs }) {
      return monotonicMs - atMonotonicMs > REPORTED_MS ? undefined : { code: 'older_than_base', detail }
    },
  }
}
