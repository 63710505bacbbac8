import type { RouteRequest } from '../route.ts'
import type { AuditContext } from '../store/operations/audit.ts'

/** The caller of an action that waits for a host which the caller has chosen. */
export interface WaitingCaller extends Pick<RouteRequest, 'releaseWhile'> {
  /**
   * Who acts, and when: to be called after the wait, directly before the change. Rejects when the
   * key, session or role of the caller has ended meanwhile.
   */
  readonly confirm: () => Promise<AuditContext>
}
