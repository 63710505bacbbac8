import type { ReadDemand } from '../guard/demand.ts'
import type { Guard } from '../guard/guard.ts'
import type { GuardRequest } from '../guard/request.ts'
import type { GuardAllow, GuardVerdict } from '../guard/verdict.ts'
import { createPrivateSlot } from '../shared/private-slot.ts'

/** A caller that was accepted, and the signal that fires when it would be rejected. */
class Admission {
  readonly credential: GuardAllow
  readonly #guard: Guard
  readonly #onDone: (over: () => void) => void
  #signal: AbortSignal | undefined

  constructor(guard: Guard, credential: GuardAllow, onDone: (over: () => void) => void) {
    this.credential = credential
    this.#guard = guard
    this.#onDone = onDone
  }

  isBy(guard: Guard): boolean {
    return this.#guard === guard
  }

  /** Created on first use: most requests never use it. */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const done = new AbortController()
      this.#signal = this.#guard.signal(this.credential, done.signal)
      this.#onDone(() => done.abort())
    }
    return this.#signal
  }
}

const admissions = /* @__PURE__ */ createPrivateSlot<Admission>()

/**
 * Attaches the verdict to the request, or to another object that the framework passes to handlers.
 * Once a signal is used, `onDone` gets a function to call at the end of the request. A request that
 * the same guard has admitted keeps its first admission, which ends last. Throws a TypeError when
 * the proof covers a body that the adapter could not read.
 */
export function admit(
  request: object,
  guard: Guard,
  credential: GuardAllow,
  onDone: (over: () => void) => void,
): void {
  if (credential.presented === 'credential' && credential.holder === 'verified_without_body') {
    throw new TypeError(
      'the body was read before requireCredential saw it: guard first, or keep the raw bytes (docs/guides/frameworks.md)',
    )
  }
  if (admissions.get(request)?.isBy(guard)) return
  admissions.set(request, new Admission(guard, credential, onDone))
}

/** Lets other adapters find the admission of `request` in `other` too. */
export function shareAdmission(request: object, other: object): void {
  admissions.set(other, requireAdmission(request))
}

/**
 * Decides about a request, or decides again about one that the same guard has admitted: its proof
 * of possession was consumed then, and would look replayed.
 */
export function verifyOnce(
  request: object,
  guard: Guard,
  guarded: GuardRequest,
  demand: ReadDemand,
): GuardVerdict | Promise<GuardVerdict> {
  const admission = admissions.get(request)
  return admission?.isBy(guard) ? guard.recheck(admission.credential, demand) : guard.verify(guarded, demand)
}

/**
 * The verdict that granted access to this request. Throws a TypeError on a route that
 * `requireCredential` does not guard.
 */
export function getCredential(request: object): GuardAllow {
  return requireAdmission(request).credential
}

/**
 * Fires when this request would no longer be accepted: revoked, expired, distrusted, or the
 * revocation data is stale. For streams and long work. It may have fired already, and then calls no
 * new listener; `addAbortListener` of `node:events` does. Throws a TypeError on a route that
 * `requireCredential` does not guard.
 */
export function getAccessSignal(request: object): AbortSignal {
  return requireAdmission(request).signal
}

function requireAdmission(request: object): Admission {
  if (typeof request !== 'object' || request === null)
    throw new TypeError(
      `getCredential and getAccessSignal need the request of the handler, or the context of Hono; this is ${request === null ? 'null' : typeof request}`,
    )
  const admission = admissions.get(request)
  if (admission === undefined) throw new TypeError('requireCredential does not guard this route')
  return admission
}
