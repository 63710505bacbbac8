import { loadCountingStore } from '../log/counting-store.ts'
import { type CutResult, cutLog } from '../log/cut-log.ts'
import { writeCheckpointAtEnd } from '../store/checkpoints/checkpoint-at-end.ts'
import { requireStore } from '../store/maintenance.ts'
import { type StoreSettings, withStore } from './with-store.ts'

/** A clock may be as far ahead of the time on record as the retention has room for. */
const AHEAD_MS_MAX = 30 * 86_400_000

/**
 * Cuts the log now, as the running service does once a day, and writes a checkpoint first. With
 * `dryRun`, only counts what it would remove. The embedded store must not be in use. What is
 * removed cannot be put back, so a clock that is far ahead of the time on record does not count.
 */
export async function cutLogNow(
  settings: StoreSettings & { readonly logKeptMs: number },
  { dryRun }: { readonly dryRun: boolean },
): Promise<CutResult> {
  await requireStore(settings.store)
  return withStore(settings, async ({ store, nowMs, context }) => {
    const target = dryRun ? await loadCountingStore(store) : store
    await writeCheckpointAtEnd(target, nowMs())
    const atMs = Math.min(nowMs(), (await store.confirmedTime()).atMs + AHEAD_MS_MAX)
    const order = { store: target, beforeMs: atMs - settings.logKeptMs, context: { ...context(), atMs } }
    return cutLog(order)
  })
}
