import { setHeadFileAside } from '../log/head-file.ts'
import { countLost } from '../store/lost-changes.ts'
import { restoreStore } from '../store/maintenance.ts'
import type { OnProgress, StoreSettings } from './with-store.ts'

export interface RestoreOptions {
  /** Revoke in the restored store what the replaced store had revoked. */
  readonly keepRevocations?: boolean
  /** Only report what would happen. */
  readonly dryRun?: boolean
  readonly onProgress?: OnProgress
}

type Restored = Awaited<ReturnType<typeof restoreStore>>

/** What a restore did, with the number of revocations that the backup lacks, by kind. */
export type RestoreResult = Restored & { readonly lostCounts: ReturnType<typeof countLost> | null }

/**
 * Replaces the embedded store with a backup, in a new epoch of its log. Keeps the replaced store
 * beside it. Rejects, and changes nothing, when the backup fails its audit.
 */
export async function restore(
  { store, masterKey, headFile }: StoreSettings & { readonly headFile: string | undefined },
  file: string,
  { onProgress, ...options }: RestoreOptions = {},
): Promise<RestoreResult> {
  const restored = await restoreStore(store, file, {
    ...options,
    masterKey,
    nowMs: Date.now(),
    onPage: onProgress,
  })
  const { epoch, lost } = restored
  // The signed heads of the replaced store do not apply to the restored one.
  if (headFile !== undefined && epoch !== undefined) setHeadFileAside(headFile, epoch)
  return { ...restored, lostCounts: typeof lost === 'object' ? countLost(lost) : null }
}
