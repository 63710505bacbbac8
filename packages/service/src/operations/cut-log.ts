import { writeCheckpointAtEnd } from '../log/checkpoint-at-end.ts'
import { type CutResult, cutLog } from '../log/cut-log.ts'
import { requireStore } from '../store/maintenance.ts'
import { type StoreSettings, withStore } from './with-store.ts'

/**
 * Cuts the log now, as the running service does once a day, and writes a checkpoint first. With
 * `dryRun`, only counts. The embedded store must not be in use.
 */
export async function cutLogNow(
  settings: StoreSettings & { readonly logKeptMs: number },
  { dryRun }: { readonly dryRun: boolean },
): Promise<CutResult> {
  await requireStore(settings.store)
  return withStore(settings, async ({ store, nowMs, context }) => {
    const atMs = nowMs()
    if (!dryRun) await writeCheckpointAtEnd(store, atMs)
    return cutLog({ store, beforeMs: atMs - settings.logKeptMs, context: context(), dryRun })
  })
}
