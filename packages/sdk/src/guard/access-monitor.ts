import type { Reason } from './denial.ts'
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

/** An access that was granted. */
interface Access {
  readonly expiresAtMs: number
  /** Why it would be denied now; undefined while it would be granted. */
  recheck(): Reason | undefined
}

/** Watches the granted accesses whose requests are still running. */
export interface AccessMonitor {
  /** When the first of them expires, in milliseconds; infinite when none is watched. */
  readonly nextExpiryMs: number
  watch(access: Access, done: AbortSignal | undefined): AbortSignal
  /** Checks all of them, and fires the signals of those that would be denied now. */
  check(): void
}

export function createAccessMonitor(describe: (reason: Reason) => GuardDenial): AccessMonitor {
  const watched = new Map<AbortController, Access>()
  let nextExpiryMs = Infinity
  return {
    get nextExpiryMs() {
      return nextExpiryMs
    },
    watch(access, done) {
      const controller = new AbortController()
      const reason = access.recheck()
      if (reason !== undefined) controller.abort(new AccessEnded(describe(reason)))
      else if (!done?.aborted) {
        watched.set(controller, access)
        nextExpiryMs = Math.min(nextExpiryMs, access.expiresAtMs)
        done?.addEventListener('abort', () => watched.delete(controller), { once: true })
      }
      return controller.signal
    },
    check() {
      nextExpiryMs = Infinity
      for (const [controller, access] of watched) {
        const reason = access.recheck()
        if (reason === undefined) nextExpiryMs = Math.min(nextExpiryMs, access.expiresAtMs)
        else {
          watched.delete(controller)
          controller.abort(new AccessEnded(describe(reason)))
        }
      }
    },
  }
}
