import { formatTime } from '@countersign/core'
import type { Logger } from 'pino'
import type { LeaseName } from '../store/operations/leases.ts'
import type { Clock } from '../time/clock.ts'
import { toName } from './leases.ts'

/** Compares the clocks of verifiers with the clock of this node. */
export interface VerifierClocks {
  /** A verifier instance has acknowledged; its clock was `aheadMs` ahead of this node's. */
  heard(instance: LeaseName, aheadMs: number): void
  /**
   * The clock of this node minus that of an instance, when it last acknowledged here. Undefined
   * when that was more than a minute ago.
   */
  differenceMs(instance: LeaseName): number | undefined
  /** The median of all instances that acknowledged within a minute; 0 when there are none. */
  medianMs(): number
}

/** Lower than the 5 s by which a head may be ahead of a verifier's clock before it is rejected. */
const CLOCK_DIFFERENCE_MS_MAX = 2000
/** Guards acknowledge every 5 s. */
const KEPT_MS = 60_000
const INSTANCES_MAX = 10_000
const JUDGED_MS = 1000
const REPEATED_MS = 5 * 60_000

interface Heard {
  readonly differenceMs: number
  readonly atMs: number
}

/**
 * Logs a warning when the clocks disagree, and again every five minutes. Nothing else happens,
 * because either side may be wrong.
 */
export function createVerifierClocks(clock: Clock, log: Pick<Logger, 'warn' | 'info'>): VerifierClocks {
  const instances = new Map<string, Heard>()
  let judgedMs = -Infinity
  let reportedMs: number | undefined

  const nowMs = () => clock.clocks().monotonicMs
  const forgetOld = () => {
    for (const [name, { atMs }] of instances) {
      if (instances.size <= INSTANCES_MAX && nowMs() - atMs <= KEPT_MS) return
      instances.delete(name)
    }
  }

  const medianMs = () => {
    forgetOld()
    const sorted = [...instances.values()]
      .map(({ differenceMs }) => differenceMs)
      .sort((one, other) => one - other)
    return sorted[Math.floor(sorted.length / 2)] ?? 0
  }

  const judge = () => {
    judgedMs = nowMs()
    const differenceMs = medianMs()
    if (Math.abs(differenceMs) <= CLOCK_DIFFERENCE_MS_MAX) {
      if (reportedMs !== undefined) log.info('the clocks of this node and its verifiers agree again')
      reportedMs = undefined
    } else if (reportedMs === undefined || judgedMs - reportedMs >= REPEATED_MS) {
      reportedMs = judgedMs
      const { wallMs } = clock.clocks()
      const [own, theirs] = [formatTime(wallMs), formatTime(wallMs - differenceMs)]
      const [here, there] = differenceMs > 0 ? ['ahead', 'behind'] : ['behind', 'ahead']
      log.warn(
        {
          difference_ms: Math.round(differenceMs),
          node_time: own,
          verifier_time: theirs,
          verifiers: instances.size,
        },
        `the clocks of this node and its verifiers disagree: the clock of this node is ${here}, or the clocks of the verifiers are ${there}. Compare both with NTP. Verifiers reject everything when the node is more than 5 s ahead of them`,
      )
    }
  }

  return {
    heard(instance, aheadMs) {
      const name = toName(instance)
      instances.delete(name) // Keeps the oldest first.
      instances.set(name, { differenceMs: -aheadMs, atMs: nowMs() })
      if (nowMs() - judgedMs >= JUDGED_MS) judge()
    },
    differenceMs(instance) {
      forgetOld()
      return instances.get(toName(instance))?.differenceMs
    },
    medianMs,
  }
}
