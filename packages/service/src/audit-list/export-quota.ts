import { limits } from '@countersign/core/contract'
import { RunningQuota } from '../running-quota.ts'

/** How many exports of the audit run on this node at a time, by API key. */
export class ExportQuota extends RunningQuota {
  constructor() {
    super({
      name: 'audit_exports',
      perKeyMax: limits.audit_exports_per_key_max,
      perNodeMax: 8,
      detail: 'Too many exports of the audit are running on this node. Wait until one has ended.',
    })
  }
}
