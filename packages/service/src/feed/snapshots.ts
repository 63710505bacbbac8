import type { SiteId } from '@countersign/core'
import { requireFreshView } from '../access/require-fresh.ts'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { DeclaredVerifier } from './feed-server.ts'
import type { HeadAges } from './head-ages.ts'
import { createSnapshot } from './snapshot.ts'
import type { VerifierRegistry } from './verifier-registry.ts'

/** Snapshots for verifiers, a bounded number at a time for each key. */
export interface Snapshots {
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
  readonly pieces: AsyncIterable<Uint8Array>
  /** Fires when another reader has taken this one's slot: the connection must be cut. */
  readonly signal: AbortSignal
  /**
   * Releases the slot. To be called when the reader has disconnected or has everything, even if it
   * read nothing.
   */
  release(): void
}

/** Each snapshot holds a page of the log and its compressed bytes. */
const PER_KEY_MAX = 32
/** A reader that reads nothing for so long loses its slot when others wait for one. */
const STALLED_MS = 3000

export interface SnapshotParts {
  readonly store: Pick<Store, 'site' | 'logPosition' | 'siteRecordsAfter' | 'epochLinks'>
  readonly views: LiveViews
  readonly clock: Clock
  readonly keys: Pick<ServiceKeys, 'feedKey'>
  readonly verifiers: Pick<VerifierRegistry, 'admit'>
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
  /** When its reader last read something. */
  readAtMs: number
}

export function createSnapshots(
  parts: SnapshotParts,
  { perKeyMax = PER_KEY_MAX, stalledMs = STALLED_MS }: SnapshotsOptions = {},
): Snapshots {
  const { views, clock, keys, verifiers, ages } = parts
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

  return {
    async open({ siteId, keyId, verifier }) {
      const { promise, isObserver } = verifier
      const snapshot = begin(keyId, promise?.instanceId)
      try {
        const view = await requireFreshView(parts, siteId)
        let ageSecondsMax = ages.seconds(siteId)
        // Repeats until it is known without waiting: it belongs to the head of this very moment.
        for (; typeof ageSecondsMax !== 'number'; ageSecondsMax = ages.seconds(siteId)) await ageSecondsMax
        // Created before the lease is written: the lease must not be older than the head.
        const pieces = createSnapshot({
          store: parts.store,
          view,
          asOfMs: views.age().asOfMs,
          ageSecondsMax,
          signer: keys.feedKey(clock.nowMs()),
        })
        const verifierId = verifier.verifierId ?? promise?.instanceId ?? ''
        await verifiers.admit(
          { siteId, keyId, verifierId, isNamed: verifier.verifierId !== undefined, promise, isObserver },
          'snapshot',
        )
        const read = async function* () {
          for await (const piece of pieces) {
            snapshot.readAtMs = performance.now()
            yield piece
          }
        }
        return { pieces: read(), signal: snapshot.stop.signal, release: () => end(keyId, snapshot) }
      } catch (fault) {
        end(keyId, snapshot)
        throw fault
      }
    },
  }
}
