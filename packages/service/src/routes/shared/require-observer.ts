import type { Caller } from '../../answer.ts'
import { Problem } from '../../problem.ts'

/** Throws `validation_failed` for a person who would follow the log as a verifier. */
export function requireObserver(caller: Caller, observe: '1' | undefined): void {
  if (caller.kind === 'anonymous' || caller.person === undefined || observe !== undefined) return
  throw new Problem(
    'validation_failed',
    'In the console the log is read by observers, which are not verifiers. Send observe=1.',
    { errors: [{ path: 'observe', message: 'must be 1 in the console' }] },
  )
}
