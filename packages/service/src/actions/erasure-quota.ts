import { RunningQuota } from '../running-quota.ts'

/**
 * How many erasures, and dry runs of them, run on this node at a time: each reads all audit rows of
 * its site, whatever user it names.
 */
export class ErasureQuota extends RunningQuota {
  constructor() {
    super({
      name: 'erasures',
      perKeyMax: 1,
      perNodeMax: 4,
      detail:
        'Another erasure of this site, or too many of other sites, are running on this node. Nothing was erased. Try again when one has ended.',
    })
  }
}
