import type { Denial } from '@countersign/core'
import type { GuardDenial } from './verdict.ts'

/** Why a signal of a guard has fired. */
export class AccessEnded extends Error {
  override readonly name = 'AccessEnded'
  readonly denial: GuardDenial

  constructor(denial: GuardDenial) {
    super(`${denial.code}: ${denial.detail}`)
    this.denial = denial
  }
}

/** A caller that was accepted. */
interface Admission {
  readonly expiresAtMs: number
  /** Why they would be rejected now. */
  lapse(): Denial | undefined
}

/** Watches the accepted callers whose requests are still running. */
export interface LapseWatch {
  /** When the first of them is over by itself, in milliseconds; infinite when none is watched. */
  readonly nextExpiryMs: number
  watch(admission: Admission, done: AbortSignal | undefined): AbortSignal
  /** Checks all of them, and fires the signals of those that would be rejected now. */
  check(): void
}

export function createLapseWatch(describe: (reason: Denial) => GuardDenial): LapseWatch {
  const watched = new Map<AbortController, Admission>()
  let nextExpiryMs = Infinity
  return {
    get nextExpiryMs() {
      return nextExpiryMs
    },
    watch(admission, done) {
      const controller = new AbortController()
      const reason = admission.lapse()
      if (reason !== undefined) controller.abort(new AccessEnded(describe(reason)))
      else if (!done?.aborted) {
        watched.set(controller, admission)
        nextExpiryMs = Math.min(nextExpiryMs, admission.expiresAtMs)
        done?.addEventListener('abort', () => watched.delete(controller), { once: true })
      }
      return controller.signal
    },
    check() {
      nextExpiryMs = Infinity
      for (const [controller, admission] of watched) {
        const reason = admission.lapse()
        if (reason === undefined) nextExpiryMs = Math.min(nextExpiryMs, admission.expiresAtMs)
        else {
          watched.delete(controller)
          controller.abort(new AccessEnded(describe(reason)))
        }
      }
    },
  }
}
