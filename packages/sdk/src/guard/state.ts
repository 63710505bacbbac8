import type { Connection, LogFollower, LogFork, ViewProblem } from '../feed/log-follower.ts'
import type { GuardData } from './guard-data.ts'

export interface GuardState {
  /** Whether a valid credential would be accepted now. */
  readonly ready: boolean
  /** The greatest possible age of the revocation data; infinite while there is none. */
  readonly ageMs: number
  readonly epoch: string
  readonly seq: number
  /** How many revocations are known. */
  readonly revocations: number
  /**
   * How many revocations that this guard has proof of stay in effect here although the log lacks
   * them, for example after a restore from an older backup. Absent when there are none.
   */
  readonly carriedRevocations?: number
  /**
   * Both heads, while the service offers a log that does not extend the one this guard has proof
   * of. Meanwhile it rejects everything.
   */
  readonly fork?: LogFork
  readonly connection: Connection
  /**
   * What prevents the guard from following the log, as a code and a sentence for the operator.
   * Absent once it is resolved; `log_contradicted` and `older_than_base` stay for ten minutes, also
   * while the guard is ready.
   */
  readonly problem?: ViewProblem
  /** The configured name, or else the instance id. */
  readonly verifierId: string
  /** Random for each guard: receipts list it. */
  readonly instanceId: string
}

/** The state that these parts of a guard are in. `problem` is one that the follower cannot see. */
export function toGuardState(
  names: Pick<GuardState, 'verifierId' | 'instanceId'>,
  data: GuardData,
  { view, fork, connection }: LogFollower,
  problem: ViewProblem | undefined,
): GuardState {
  const { head, revocationCount, carriedRevocationCount } = view
  return {
    ready: data.isFresh,
    ageMs: data.ageMs,
    epoch: head.epoch,
    seq: head.seq,
    revocations: revocationCount,
    ...(carriedRevocationCount > 0 && { carriedRevocations: carriedRevocationCount }),
    ...(fork && { fork }),
    connection,
    ...(problem && { problem }),
    ...names,
  }
}
