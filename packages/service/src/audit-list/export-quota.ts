import { limits } from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import { RunningQuota } from '../running-quota.ts'

const perKeyMax = limits.audit_exports_per_site_max
const name = 'audit_exports'
const detail = 'Too many exports of the audit are running on this node. Wait until one has ended.'

/**
 * How many exports of the audit run on this node at a time: a few for each site, whatever key asks,
 * and others for operators, so that no site can keep an operator waiting.
 */
export class ExportQuota {
  readonly #sites = new RunningQuota({ name, perKeyMax, perNodeMax: 8, detail })
  readonly #operators = new RunningQuota({ name, perKeyMax, perNodeMax: 4, detail })

  /** How many run now. */
  get size(): number {
    return this.#sites.size + this.#operators.size
  }

  /** Begins one; the returned function ends it. Throws `rate_limited` when there are too many. */
  begin(caller: Exclude<Caller, { kind: 'anonymous' }>): () => void {
    if (caller.kind === 'site') return this.#sites.begin(caller.siteId)
    return this.#operators.begin(caller.keyId ?? caller.person.personId)
  }
}
