import type { SiteId } from '@countersign/core'
import { RunningQuota } from '../../running-quota.ts'

const DETAIL = 'Too many previews are running on this node. Wait until one has ended.'

/**
 * How many previews run on this node at a time, by API key or person, and by site: the keys of one
 * site must not keep those of other sites from theirs.
 */
export class PreviewQuota {
  readonly #keys = new RunningQuota({ name: 'previews', perKeyMax: 1, perNodeMax: Infinity, detail: DETAIL })
  readonly #sites = new RunningQuota({ name: 'previews', perKeyMax: 2, perNodeMax: 8, detail: DETAIL })

  /** Begins one; the returned function ends it. Throws a Problem `rate_limited`. */
  begin(keyId: string, siteId: SiteId): () => void {
    const endOfKey = this.#keys.begin(keyId)
    try {
      const endOfSite = this.#sites.begin(siteId)
      return () => {
        endOfSite()
        endOfKey()
      }
    } catch (fault) {
      endOfKey()
      throw fault
    }
  }
}
