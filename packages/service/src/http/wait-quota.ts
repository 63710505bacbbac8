import { limits } from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import { RunningCount } from '../running-quota.ts'
import { addressGroup } from './client-address.ts'

const PER_NODE_MAX = 1000

/**
 * How many requests of a caller, of a site and of all sites wait at a time for something that other
 * systems do.
 */
export class WaitQuota {
  readonly #callers = new RunningCount({ perKeyMax: limits.waits_per_key_max, perNodeMax: Infinity })
  readonly #sites = new RunningCount({ perKeyMax: limits.waits_per_site_max, perNodeMax: PER_NODE_MAX })

  /** Begins one; the returned function ends it. Undefined when a limit is reached. */
  tryBegin(caller: Caller): (() => void) | undefined {
    const name = toName(caller)
    const endOfCaller = this.#callers.tryBegin(name)
    if (endOfCaller === undefined) return undefined
    const endOfSite = this.#sites.tryBegin(caller.kind === 'site' ? `site:${caller.siteId}` : name)
    if (endOfSite === undefined) {
      endOfCaller()
      return undefined
    }
    return () => {
      endOfSite()
      endOfCaller()
    }
  }
}

function toName(caller: Caller): string {
  if (caller.kind === 'anonymous') return `address:${addressGroup(caller.address)}`
  return caller.keyId === undefined ? `person:${caller.person.personId}` : `key:${caller.keyId}`
}
