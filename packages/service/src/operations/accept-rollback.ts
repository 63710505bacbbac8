import { readHeadFile, setHeadFileAside } from '../log/head-file.ts'
import { compareHeads, type HeadComparison } from '../log/lost-heads.ts'
import { beginNewEpoch, requireStore } from '../store/maintenance.ts'
import { loadSiteHeads } from '../store/site-heads.ts'
import type { Store } from '../store/store.ts'
import { type StoreSettings, withStore } from './with-store.ts'

/** At most this many heads go into the audit row, with the number of all. */
const LISTED_MAX = 20

export interface RollbackResult {
  /** Signed heads of the head file that the store does not have. */
  readonly lost: HeadComparison['lost']
  /** Whether there is a head file and all of its lines can be read. If not, more may be lost. */
  readonly isComplete: boolean
  /** Absent after a dry run, and when the whole head file shows that nothing is lost. */
  readonly accepted?: {
    readonly epoch: string
    readonly position: number
    /** Where the head file was moved to, if it had heads of another epoch. */
    readonly headFileBefore: string | undefined
  }
}

/**
 * Finds the entries that the head file proves and the store lacks. Unless `dryRun`, records them in
 * the audit and begins a new epoch of the log without them. It also begins one when the head file
 * cannot show that nothing is lost: then only a verifier may have the proof.
 */
export async function acceptRollback(
  settings: StoreSettings & { readonly headFile: string | undefined },
  { dryRun }: { readonly dryRun: boolean },
): Promise<RollbackResult> {
  const { store: place, masterKey, headFile } = settings
  await requireStore(place)
  const { lost, isComplete, isAccepted } = await withStore(settings, async (at) => {
    const found = await compareWithHeadFile(at.store, headFile)
    const isAccepted = !dryRun && (found.lost.length > 0 || !found.isComplete)
    const listed = found.lost
      .slice(0, LISTED_MAX)
      .map(({ head: { site_id, epoch, seq, hash } }) => `${site_id} ${epoch}.${seq} ${hash}`)
    const detail = { lost: listed, sites: found.lost.length }
    const row = {
      siteId: null,
      action: 'log.accept_rollback',
      target: at.store.epoch,
      detail,
      context: at.context(),
    }
    if (isAccepted) await at.store.audit(row)
    return { ...found, isAccepted }
  })
  if (!isAccepted) return { lost, isComplete }
  const { epoch, position } = await beginNewEpoch(place, masterKey, Date.now())
  const headFileBefore = headFile === undefined ? undefined : setOldHeadsAside(headFile, epoch)
  return { lost, isComplete, accepted: { epoch, position, headFileBefore } }
}

/** Keeps the head file if a running node has written the heads of the new epoch already. */
function setOldHeadsAside(file: string, epoch: string): string | undefined {
  const heads = [...(readHeadFile(file)?.heads.values() ?? [])]
  return heads.some((head) => head.epoch !== epoch) ? setHeadFileAside(file, epoch) : undefined
}

async function compareWithHeadFile(
  store: Store,
  file: string | undefined,
): Promise<Pick<RollbackResult, 'lost' | 'isComplete'>> {
  const kept = file === undefined ? undefined : readHeadFile(file)
  if (kept === undefined) return { lost: [], isComplete: false }
  const heads = new Map((await loadSiteHeads(store)).map((head) => [head.siteId, head]))
  const { lost } = await compareHeads(store, kept.heads.values(), (siteId) => heads.get(siteId))
  return { lost, isComplete: kept.unreadable === 0 }
}
