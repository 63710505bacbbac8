import type { ChainFault, SiteId, ViewFault } from '@countersign/core'
import type { ForgedRow } from './transaction.ts'

/**
 * `unreadable`: a row is not a log entry. `missing`: the log is shorter than its log row states, or
 * has a gap. `other_head`: the log of a site does not end where the store states. `other_entries`:
 * the entries form a chain, but not the one that the service wrote. `forged`: the MAC of a row is
 * missing or wrong. `row_missing`, `row_differs`: a table derived from the log contradicts it.
 */
export type LogFault =
  | ChainFault
  | 'unreadable'
  | 'missing'
  | 'other_head'
  | 'other_entries'
  | 'forged'
  | 'row_missing'
  | 'row_differs'

export interface FailedAudit {
  readonly ok: false
  readonly fault: LogFault
  readonly position: number
  /** The site and the number of the bad entry, if there is one. */
  readonly siteId?: SiteId
  readonly seq?: number
  /** The bad row, if it is not an entry. */
  readonly row?: ForgedRow
}

/** What an audit has proven. */
interface PassedAudit {
  readonly ok: true
  readonly position: number
  readonly sites: number
  /** The entries up to here were removed; a checkpoint has what they still mean. */
  readonly basePosition: number
  /** How many pages the checkpoint has. */
  readonly pages: number
}

export type LogAudit = PassedAudit | FailedAudit

/**
 * The log is not what this service wrote, so nothing that depends on it can be trusted. `audit` is
 * set if the fault is one that an audit reports.
 */
export class LogCorrupted extends Error {
  override readonly name = 'LogCorrupted'
  readonly reason: LogFault | ViewFault
  readonly audit: FailedAudit | undefined

  constructor(
    reason: LogFault | ViewFault,
    message: string,
    options: ErrorOptions & { readonly audit?: FailedAudit } = {},
  ) {
    super(message, options)
    this.reason = reason
    this.audit = options.audit
  }
}

export function failedAudit(audit: FailedAudit): LogCorrupted {
  return new LogCorrupted(
    audit.fault,
    `the log is not intact at position ${audit.position}: ${audit.fault}`,
    { audit },
  )
}

export function unreadableEntry(position: number): LogCorrupted {
  return new LogCorrupted('unreadable', `entry ${position} of the log is damaged`, {
    audit: { ok: false, fault: 'unreadable', position },
  })
}
