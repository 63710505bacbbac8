import { findHeadFiles, readHeadFile, setHeadFileAside } from '../log/head-file.ts'
import { compareHeads, type HeadComparison } from '../log/lost-heads.ts'
import { beginNewEpoch, requireStore } from '../store/maintenance.ts'
import { loadSiteHeads } from '../store/site-heads.ts'
import type { Store } from '../store/store.ts'
import { type StoreSettings, withStore } from './with-store.ts'

/** At most this many heads go into the audit row, with the number of all. */
const LISTED_MAX = 20

export interface RollbackResult {
  /** Signed heads of the head files that the store does not have: of each site the last one. */
  readonly lost: HeadComparison['lost']
  /**
   * Whether there is a head file, and all lines of it and of those of the other workers can be
   * read. If not, more may be lost.
   */
  readonly isComplete: boolean
  /** The file that is missing or has lines that cannot be read. */
  readonly incompleteFile?: string
  /** Absent after a dry run, and when whole head files show that nothing is lost. */
  readonly accepted?: {
    readonly epoch: string
    readonly position: number
    /** Where the head files were moved to that had heads of another epoch. */
    readonly headFilesBefore: readonly string[]
  }
}

/**
 * Finds the entries that a head file proves and the store lacks: a worker may know of entries that
 * the others have not seen. Unless `dryRun`, records them in the audit and begins a new epoch of
 * the log without them. It also begins one when the head files cannot show that nothing is lost:
 * then only a verifier may have the proof.
 */
export async function acceptRollback(
  settings: StoreSettings & { readonly headFile: string | undefined },
  { dryRun }: { readonly dryRun: boolean },
): Promise<RollbackResult> {
  const { store: place, masterKey, headFile } = settings
  await requireStore(place)
  const { isAccepted, ...found } = await withStore(settings, async (at) => {
    const found = await compareWithHeadFiles(at.store, headFile)
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
  if (!isAccepted) return found
  const { epoch, position } = await beginNewEpoch(place, masterKey, Date.now())
  const files = headFile === undefined ? [] : findHeadFiles(headFile)
  const headFilesBefore = files.flatMap((file) => setOldHeadsAside(file, epoch) ?? [])
  return { ...found, accepted: { epoch, position, headFilesBefore } }
}

/** Keeps a head file if a running node has written the heads of the new epoch already. */
function setOldHeadsAside(file: string, epoch: string): string | undefined {
  const heads = [...(readHeadFile(file)?.heads.values() ?? [])]
  return heads.some((head) => head.epoch !== epoch) ? setHeadFileAside(file, epoch) : undefined
}

async function compareWithHeadFiles(
  store: Store,
  file: string | undefined,
): Promise<Pick<RollbackResult, 'lost' | 'isComplete' | 'incompleteFile'>> {
  if (file === undefined) return { lost: [], isComplete: false }
  const kept = new Map(findHeadFiles(file).map((each) => [each, readHeadFile(each)]))
  const heads = new Map((await loadSiteHeads(store)).map((head) => [head.siteId, head]))
  const keptHeads = [...kept.values()].flatMap((each) => [...(each?.heads.values() ?? [])])
  const found = await compareHeads(store, keptHeads, (siteId) => heads.get(siteId))
  const lost = keepLast(found.lost)
  const isWhole = (each: string) => kept.get(each)?.unreadable === 0
  const incompleteFile = [file, ...kept.keys()].find((each) => !isWhole(each))
  return incompleteFile === undefined
    ? { lost, isComplete: true }
    : { lost, isComplete: false, incompleteFile }
}

/** Of each epoch of a site the last head: workers that stopped earlier have earlier ones. */
function keepLast(lost: HeadComparison['lost']): HeadComparison['lost'] {
  const last = new Map<string, HeadComparison['lost'][number]>()
  for (const each of lost) {
    const name = `${each.head.site_id} ${each.head.epoch}`
    if (each.head.seq > (last.get(name)?.head.seq ?? 0)) last.set(name, each)
  }
  return [...last.values()]
}
