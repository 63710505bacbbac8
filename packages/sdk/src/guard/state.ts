import type { Connection, ViewProblem } from '../view/view-client.ts'

export interface GuardState {
  /** Whether a good credential would be let in now. */
  readonly ready: boolean
  /** How old the knowledge may be at most; infinite while there is none. */
  readonly ageMs: number
  readonly epoch: string
  readonly seq: number
  /** How many revocations are known. */
  readonly revocations: number
  readonly connection: Connection
  /** What stands in the way, in a word and in a sentence for the operator. Gone when it is mended. */
  readonly problem?: ViewProblem
  readonly verifierId: string
}
