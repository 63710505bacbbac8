/**
 * A position in the log of a site: entry `seq` of `epoch`. Sequence numbers start at 1; 0 is the
 * position before the first entry.
 */
export interface LogPosition {
  readonly epoch: string
  readonly seq: number
}

/** The last entry of a log, identified by its hash. */
export interface LogHead extends LogPosition {
  /** Lower-case hex; 64 zeros before the first entry. */
  readonly hash: string
}

/** What was revoked, and when. */
export interface Revocation {
  readonly by: 'credential' | 'user' | 'token' | 'holder' | 'issuer' | 'key' | 'site'
  readonly sinceMs: number
}
