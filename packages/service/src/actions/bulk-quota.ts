import type { SiteId } from '@countersign/core'
import { RunningQuota } from '../running-quota.ts'

/**
 * Revocations of several targets run one at a time on a node, and one more waits, of another site.
 * Otherwise those of one site could keep the store busy for so long that the revocations of other
 * sites fail.
 */
export class BulkQuota extends RunningQuota {
  #last: Promise<unknown> = Promise.resolve()

  constructor() {
    super({
      name: 'bulk_revocations',
      perKeyMax: 1,
      perNodeMax: 2,
      detail:
        'Another revocation of several targets is running on this node. Nothing was revoked. Try again in a second.',
    })
  }

  /** Runs when the one before has ended. Throws as `check` does, before `revoke` is called. */
  async run<T>(siteId: SiteId, revoke: () => Promise<T>): Promise<T> {
    const end = this.begin(siteId)
    const running = this.#last.then(revoke)
    this.#last = running.catch(() => undefined)
    try {
      return await running
    } finally {
      end()
    }
  }
}
