import type { SiteId } from '@countersign/core'
import type { SignalSender, SignalType } from '@countersign/core/contract'
import { BoundedMap } from '../bounded-map.ts'
import type { Store } from '../store/store.ts'

/** A sender of signals, and the OAuth issuer that it is registered with. */
interface RegisteredSender {
  readonly sender: SignalSender
  readonly tokenIssuer: string
}

/** Finds the senders of a site by the issuer of their tokens, compared character by character. */
export type FindSenders = (
  siteId: SiteId,
  type: SignalType,
  issuer: string,
) => Promise<readonly RegisteredSender[]>

const SITES_MAX = 1000
/** As long as the views of this node may be old. */
const KEPT_MS = 2000

/**
 * Senders are known from the store for two seconds, so that signals of unknown senders cause few
 * reads. `monotonicMs` is a clock that never runs back.
 */
export function createFindSenders(
  store: Pick<Store, 'signalSenders'>,
  monotonicMs: () => number,
): FindSenders {
  const sites = new BoundedMap<string, { loadedMs: number; senders: Promise<readonly RegisteredSender[]> }>(
    SITES_MAX,
  )
  const load = async (siteId: SiteId): Promise<readonly RegisteredSender[]> => {
    const found = await store.signalSenders(siteId)
    return found.map(({ sender, issuer }) => ({ sender, tokenIssuer: issuer.issuer }))
  }
  return async (siteId, type, issuer) => {
    let known = sites.get(siteId)
    if (known === undefined || !(monotonicMs() - known.loadedMs < KEPT_MS)) {
      known = { loadedMs: monotonicMs(), senders: load(siteId) }
      known.senders.catch(() => sites.delete(siteId))
      sites.set(siteId, known)
    }
    const senders = await known.senders
    return senders.filter(({ sender }) => sender.type === type && sender.issuer === issuer)
  }
}
