import type { SiteId } from '@countersign/core'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { Clock } from '../log/clock.ts'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'
import { freshView } from './fresh-view.ts'
import { createSnapshot } from './snapshot.ts'

/** Snapshots for whoever asks, not too many at a time for one key. */
export interface Snapshots {
  /** As of now. Throws a Problem: `not_found`, `revocation_view_stale`, `rate_limited` when this key is fetching as many as it may already. */
  take(siteId: SiteId, keyId: string): Promise<AsyncIterable<Uint8Array>>
}

/** Each holds a page of the log and what is being compressed of it. */
const PER_KEY_MAX = 32

export interface SnapshotParts {
  readonly store: Pick<Store, 'site' | 'logPosition' | 'siteRecordsAfter' | 'epochLinks'>
  readonly views: LiveViews
  readonly clock: Clock
  readonly keys: Pick<ServiceKeys, 'feedKey'>
}

export function createSnapshots(parts: SnapshotParts, perKeyMax = PER_KEY_MAX): Snapshots {
  const { store, views, clock, keys } = parts
  const running = new Map<string, number>()
  const count = (keyId: string, more: number) => {
    const now = (running.get(keyId) ?? 0) + more
    if (now > 0) running.set(keyId, now)
    else running.delete(keyId)
  }
  return {
    async take(siteId, keyId) {
      if ((running.get(keyId) ?? 0) >= perKeyMax) {
        throw new Problem('rate_limited', 'This key is fetching too many snapshots at a time. Fetch them one after the other.', {
          retryAfterSeconds: 1,
          policy: { name: 'snapshots', quota: perKeyMax, windowSeconds: 1 },
        })
      }
      const view = await freshView(parts, siteId)
      const signer = keys.feedKey(clock.nowMs())
      const pieces = createSnapshot({ store, view, asOfMs: views.age().asOfMs, signer })
      return (async function* () {
        count(keyId, 1)
        try {
          yield* pieces
        } finally {
          count(keyId, -1)
        }
      })()
    },
  }
}
