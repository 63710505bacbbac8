import type { GuardAllow } from '../guard/verdict.ts'
import type { Guard } from '../guard.ts'

/** Somebody who was let in, and how to hear that they would not be any more. */
interface Admission {
  readonly credential: GuardAllow
  signal(): AbortSignal
}

const admissions = new WeakMap<object, Admission>()

/**
 * Notes who was let in with this request, or with whatever else the framework hands to its handlers. `onDone` is told, once a signal is wanted, to
 * call back at the end of the request. Throws a TypeError when a body that the proof covers was not there to be compared.
 */
export function admit(request: object, guard: Guard, credential: GuardAllow, onDone: (over: () => void) => void): void {
  if (credential.presented === 'credential' && credential.holder === 'proven_body_unseen') {
    throw new TypeError('the body was read before requireCredential saw it: guard first, or keep the raw bytes (docs/guides/frameworks.md)')
  }
  let signal: AbortSignal | undefined
  admissions.set(request, {
    credential,
    // Made when it is first asked for: most requests are over before anybody would.
    signal() {
      if (signal === undefined) {
        const done = new AbortController()
        signal = guard.signal(credential, done.signal)
        onDone(() => done.abort())
      }
      return signal
    },
  })
}

/** The verdict that let this request in. Throws a TypeError on a route that `requireCredential` does not guard. */
export function credentialOf(request: object): GuardAllow {
  return admissionOf(request).credential
}

/**
 * Fires when what let this request in no longer would: revoked, expired, distrusted, or the knowledge too old. For streams and long work. Throws a
 * TypeError on a route that `requireCredential` does not guard.
 */
export function signalOf(request: object): AbortSignal {
  return admissionOf(request).signal()
}

function admissionOf(request: object): Admission {
  const admission = admissions.get(request)
  if (admission === undefined) throw new TypeError('requireCredential does not guard this route')
  return admission
}
