import type { Logger } from 'pino'
import { everyMs } from '../every-ms.ts'
import type { LiveViews } from '../log/live-views.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { SERVICE_VERSION } from '../version.ts'

export interface NodeReportDeps {
  readonly nodeId: string
  readonly store: Pick<
    Store,
    'kind' | 'isShared' | 'epoch' | 'writeFault' | 'reportNode' | 'endNode' | 'storeTime'
  >
  readonly views: Pick<LiveViews, 'age' | 'position' | 'readiness'>
  readonly clock: Pick<Clock, 'clocks'>
  /** Open feeds. */
  readonly countStreams: () => number
  readonly log: Pick<Logger, 'warn'>
}

export interface NodeReports {
  /** Reports now. */
  report(): Promise<void>
  close(): Promise<void>
}

const EVERY_MS = 10_000

/**
 * Reports the state of this node in the store, now and about every ten seconds, for operators. A
 * failure is logged. The report is removed at the end.
 */
export async function openNodeReports(deps: NodeReportDeps, ms: number = EVERY_MS): Promise<NodeReports> {
  const { nodeId, store, views, clock, log } = deps
  const startedMs = clock.clocks().monotonicMs

  const report = async () => {
    const { storeMs, clockDifferenceMs } = await readStoreTime(deps)
    const { ageMs } = views.age()
    await store.reportNode(
      {
        nodeId,
        version: SERVICE_VERSION,
        startedAtMs: Math.round(storeMs - (clock.clocks().monotonicMs - startedMs)),
        reportedAtMs: Math.round(storeMs),
        epoch: store.epoch,
        position: views.position,
        viewAgeMs: Number.isFinite(ageMs) ? Math.max(0, Math.round(ageMs)) : undefined,
        streams: deps.countStreams(),
        clockDifferenceMs,
        isReady: views.readiness().ready && store.writeFault() === undefined,
      },
      !store.isShared,
    )
  }
  const onFailure = (err: unknown) => log.warn({ err }, 'the state of this node could not be reported')
  await report().catch(onFailure)
  const reporting = everyMs(ms, report, onFailure, 0.1)

  return {
    report,
    async close() {
      await reporting.close()
      await store.endNode(nodeId).catch(onFailure)
    },
  }
}

/**
 * The time of the store, and how far the clock of this node is ahead of it. Reports have the time
 * of the store, so that those of all nodes can be compared.
 */
async function readStoreTime({ store, clock }: NodeReportDeps) {
  const before = clock.clocks().wallMs
  if (!store.isShared) return { storeMs: before, clockDifferenceMs: 0 }
  const storeMs = await store.storeTime(store.kind)
  const middleMs = (before + clock.clocks().wallMs) / 2
  return { storeMs, clockDifferenceMs: Math.round(middleMs - storeMs) }
}
