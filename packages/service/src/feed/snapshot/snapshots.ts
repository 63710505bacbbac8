import type { LogHead, SiteId } from '@countersign/core'
import { requireFresh, requireFreshView, staleProblem } from '../../access/require-fresh.ts'
import type { ServiceKeys } from '../../keys/service-keys.ts'
import type { LiveViews } from '../../log/live-views.ts'
import type { Meters } from '../../meters.ts'
import { Problem } from '../../problem.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../../time/clock.ts'
import type { DeclaredVerifier } from '../feed-server.ts'
import type { HeadAges } from '../head-ages.ts'
import type { VerifierRegistry } from '../verifier-registry.ts'
import { snapshotParts } from './body.ts'
import { type TextPart, toGzip, toText } from './gzip.ts'
import { PageCache, PageReplaced } from './page-cache.ts'
import { PagedLogs } from './paged-logs.ts'
import { type SharedSnapshot, SharedSnapshots } from './shared-snapshots.ts'

/** Snapshots for verifiers, a bounded number at a time for each key. */
export interface Snapshots {
  /**
   * The tag of the current view. Throws a Problem: `not_found`, `revocation_view_stale`.
   */
  tag(siteId: SiteId): Promise<string>
  /**
   * Begins a snapshot of the current view. Throws a Problem: `not_found`, `revocation_view_stale`,
   * `rate_limited` when this key is fetching as many as it may already.
   */
  open(request: SnapshotRequest): Promise<SnapshotStream>
}

interface SnapshotRequest {
  readonly siteId: SiteId
  readonly keyId: string
  readonly verifier: DeclaredVerifier
}

interface SnapshotStream {
  /** The log position of the snapshot, `epoch.seq`. */
  readonly tag: string
  /** The lines in this encoding. Called at most once. */
  readonly pieces: (encoding: 'gzip' | 'identity') => AsyncIterable<Uint8Array>
  /** Fires when another reader has taken this one's slot: the connection must be cut. */
  readonly signal: AbortSignal
  /**
   * Releases the slot. To be called when the reader has disconnected or has everything, even if it
   * read nothing.
   */
  release(): void
}

/** Each reader holds at most one page. */
const PER_KEY_MAX = 32
/** A reader that reads nothing for so long loses its slot when others wait for one. */
const STALLED_MS = 3000

export interface SnapshotsParts {
  readonly store: Pick<
    Store,
    | 'site'
    | 'logPosition'
    | 'siteRecordsAfter'
    | 'epochLinks'
    | 'epoch'
    | 'checkpoint'
    | 'checkpointSites'
    | 'sitePages'
    | 'sitePageBytes'
  >
  readonly views: LiveViews
  readonly clock: Clock
  readonly keys: Pick<ServiceKeys, 'feedKey'>
  readonly verifiers: Pick<VerifierRegistry, 'admit'>
  readonly ages: HeadAges
  readonly meters: Pick<Meters, 'snapshot' | 'rowForged'>
}

export interface SnapshotsOptions {
  readonly perKeyMax?: number
  readonly stalledMs?: number
  /** See `SharedSnapshotsOptions`. */
  readonly reusedMs?: number
  /** See `PageCache`. */
  readonly pageBytesMax?: number
}

/** A snapshot that is being read. */
interface Running {
  readonly instanceId: string | undefined
  readonly stop: AbortController
  /** When its reader last read something; Infinity while the reader waits for the service. */
  readAtMs: number
}

export function createSnapshots(
  parts: SnapshotsParts,
  { perKeyMax = PER_KEY_MAX, stalledMs = STALLED_MS, reusedMs, pageBytesMax }: SnapshotsOptions = {},
): Snapshots {
  const { store, views, clock, keys, verifiers, ages, meters } = parts
  const onForged = (table: string) => meters.rowForged(table)
  const logs = new PagedLogs({ store, views, onForged })
  const pages = new PageCache({ store, onForged, onRead: () => meters.snapshot('page_read') }, pageBytesMax)
  const shared = new SharedSnapshots(
    { store, views, onWork: (work) => meters.snapshot(work) },
    reusedMs === undefined ? {} : { reusedMs },
  )
  const running = new Map<string, Set<Running>>()

  const end = (keyId: string, snapshot: Running) => {
    const own = running.get(keyId)
    own?.delete(snapshot)
    if (own?.size === 0) running.delete(keyId)
  }

  /**
   * Reserves a slot: a free one, that of an earlier snapshot of the same instance, or that of the
   * reader that has stalled longest.
   */
  const begin = (keyId: string, instanceId: string | undefined): Running => {
    const own = running.get(keyId) ?? new Set()
    running.set(keyId, own)
    const nowMs = performance.now()
    const drop = (snapshot: Running | undefined) => {
      if (snapshot === undefined) return
      end(keyId, snapshot)
      snapshot.stop.abort()
    }
    if (instanceId !== undefined) drop([...own].find((each) => each.instanceId === instanceId))
    if (own.size >= perKeyMax) {
      const [longest] = [...own].sort((one, other) => one.readAtMs - other.readAtMs)
      if (longest !== undefined && nowMs - longest.readAtMs > stalledMs) drop(longest)
    }
    if (own.size >= perKeyMax) {
      throw new Problem(
        'rate_limited',
        'This key is fetching too many snapshots at a time. Fetch them one after the other.',
        {
          retryAfterSeconds: 1,
          policy: { name: 'snapshots', quota: perKeyMax, windowSeconds: 1 },
        },
      )
    }
    const snapshot = { instanceId, stop: new AbortController(), readAtMs: nowMs }
    running.set(keyId, own.add(snapshot))
    return snapshot
  }

  /**
   * The parts of a snapshot. A fault, or a page that was replaced, ends it without its last line.
   */
  const loadParts = async function* (snapshot: SharedSnapshot): AsyncGenerator<TextPart> {
    try {
      yield* snapshotParts(snapshot, (...page) => pages.load(...page))
    } catch (fault) {
      if (fault instanceof PageReplaced) {
        logs.forget()
        shared.forget(snapshot.siteId, snapshot.body)
      }
      throw fault
    }
  }

  /** Records when the reader reads. */
  const watch = async function* (
    chunks: AsyncIterable<Uint8Array>,
    reader: Running,
  ): AsyncGenerator<Uint8Array> {
    reader.readAtMs = Infinity
    for await (const chunk of chunks) {
      reader.readAtMs = performance.now()
      yield chunk
      reader.readAtMs = Infinity
    }
  }

  return {
    tag: async (siteId) => toTag((await requireFreshView(parts, siteId)).head),
    async open({ siteId, keyId, verifier }) {
      const { promise, isObserver } = verifier
      const reader = begin(keyId, promise?.instanceId)
      try {
        await requireFreshView(parts, siteId)
        const paged = await logs.load(siteId)
        let ageSecondsMax = ages.seconds(siteId)
        // Repeats until it is known without waiting: it belongs to the head of this very moment.
        for (; typeof ageSecondsMax !== 'number'; ageSecondsMax = ages.seconds(siteId)) await ageSecondsMax
        requireFresh(views)
        const view = views.view(siteId)
        if (view === undefined) throw staleProblem()
        // In the same turn as the time of the lease, which must not be older than the head: the
        // head is the one of this moment, and a lease that is opened later gets a later one.
        const snapshot = shared.take({ view, paged, ageSecondsMax, signer: keys.feedKey(clock.nowMs()) })
        const verifierId = verifier.verifierId ?? promise?.instanceId ?? ''
        await verifiers.admit(
          { siteId, keyId, verifierId, isNamed: verifier.verifierId !== undefined, promise, isObserver },
          'snapshot',
        )
        meters.snapshot('opened')
        return {
          tag: toTag(snapshot.head),
          pieces: (encoding) => watch((encoding === 'gzip' ? toGzip : toText)(loadParts(snapshot)), reader),
          signal: reader.stop.signal,
          release: () => end(keyId, reader),
        }
      } catch (fault) {
        end(keyId, reader)
        throw fault
      }
    },
  }
}

function toTag({ epoch, seq }: LogHead): string {
  return `${epoch}.${seq}`
}
