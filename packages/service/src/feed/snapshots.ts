import type { SiteId } from '@countersign/core'
import { requireFreshView } from '../access/require-fresh.ts'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { DeclaredVerifier, StreamWatcher } from './feeds.ts'
import type { HeadAges } from './head-ages.ts'
import { createSnapshot } from './snapshot.ts'

/** Snapshots for verifiers, a bounded number at a time for each key. */
export interface Snapshots {
  /**
   * As of now. Throws a Problem: `not_found`, `revocation_view_stale`, `rate_limited` when this key
   * is fetching as many as it may already.
   */
  take(order: SnapshotRequest): Promise<SnapshotStream>
}

interface SnapshotRequest {
  readonly siteId: SiteId
  readonly keyId: string
  readonly verifier: DeclaredVerifier
}

interface SnapshotStream {
  readonly pieces: AsyncIterable<Uint8Array>
  /** Fires when the reader has lost its place to another: the connection must be cut. */
  readonly signal: AbortSignal
  /**
   * Gives the place back. To be called when the reader has gone or has everything, even if it took
   * nothing.
   */
  letGo(): void
}

/** Each holds a page of the log and what is being compressed of it. */
const PER_KEY_MAX = 32
/** A reader that takes nothing for so long loses its place when others wait for one. */
const STALLED_MS = 3000

export interface SnapshotParts {
  readonly store: Pick<Store, 'site' | 'logPosition' | 'siteRecordsAfter' | 'epochLinks'>
  readonly views: LiveViews
  readonly clock: Clock
  readonly keys: Pick<ServiceKeys, 'feedKey'>
  readonly watcher: Pick<StreamWatcher, 'admit'>
  readonly ages: HeadAges
}

export interface SnapshotsOptions {
  readonly perKeyMax?: number
  readonly stalledMs?: number
}

/** A snapshot that is being read. */
interface Running {
  readonly instanceId: string | undefined
  readonly stop: AbortController
  /** When its reader last took something. */
  takenAtMs: number
}

export function createSnapshots(
  parts: SnapshotParts,
  { perKeyMax = PER_KEY_MAX, stalledMs = STALLED_MS }: SnapshotsOptions = {},
): Snapshots {
  const { views, clock, keys, watcher, ages } = parts
  const running = new Map<string, Set<Running>>()

  const end = (keyId: string, snapshot: Running) => {
    const own = running.get(keyId)
    own?.delete(snapshot)
    if (own?.size === 0) running.delete(keyId)
  }

  /**
   * A place for one more: a free one, that of an earlier snapshot of the same instance, or that of
   * the reader that has stalled longest.
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
      const [longest] = [...own].sort((one, other) => one.takenAtMs - other.takenAtMs)
      if (longest !== undefined && nowMs - longest.takenAtMs > stalledMs) drop(longest)
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
    const snapshot = { instanceId, stop: new AbortController(), takenAtMs: nowMs }
    running.set(keyId, own.add(snapshot))
    return snapshot
  }

  return {
    async take({ siteId, keyId, verifier }) {
      const { promise, isObserver } = verifier
      const snapshot = begin(keyId, promise?.instanceId)
      try {
        const view = await requireFreshView(parts, siteId)
        let ageSecondsMax = ages.seconds(siteId)
        // Until it is known without waiting: the head below is that of this very moment.
        for (; typeof ageSecondsMax !== 'number'; ageSecondsMax = ages.seconds(siteId)) await ageSecondsMax
        // Made before the lease is written: the lease must not be older than the head.
        const pieces = createSnapshot({
          store: parts.store,
          view,
          asOfMs: views.age().asOfMs,
          ageSecondsMax,
          signer: keys.feedKey(clock.nowMs()),
        })
        const verifierId = verifier.verifierId ?? promise?.instanceId ?? ''
        await watcher.admit(
          { siteId, keyId, verifierId, isNamed: verifier.verifierId !== undefined, promise, isObserver },
          'snapshot',
        )
        const taken = async function* () {
          for await (const piece of pieces) {
            snapshot.takenAtMs = performance.now()
            yield piece
          }
        }
        return { pieces: taken(), signal: snapshot.stop.signal, letGo: () => end(keyId, snapshot) }
      } catch (fault) {
        end(keyId, snapshot)
        throw fault
      }
    },
  }
}
