import type { SecurityEventError, SignalType } from '@countersign/core/contract'

/** A signal as its token states it. Only its sender can make it true, by a signature. */
export interface Signal {
  readonly type: SignalType
  /** `iss` of its token. */
  readonly issuer: string
  readonly jti: string
  /** The name of the event, for the audit. */
  readonly event: string
  /** What the sender asks for. `none`: the signal is recorded only. */
  readonly request: 'sign_out' | 'disable' | 'none'
  /** When it happened. */
  readonly atMs: number
  readonly subject: SignalSubject
}

/** All names of the one user or session that a signal is about. */
export interface SignalSubject {
  readonly subs: readonly { readonly issuer: string; readonly sub: string }[]
  readonly emails: readonly string[]
  /** `sid` of a logout. */
  readonly session: string | undefined
}

/** Why a token is not a valid signal. */
export interface SignalFault {
  readonly fault: string
  readonly err: SecurityEventError
}

export function isSignalFault(value: object): value is SignalFault {
  return 'fault' in value
}

/** `fault` follows "The signal is not valid: ". */
export function toFault(fault: string, err: SecurityEventError = 'invalid_request'): SignalFault {
  return { fault, err }
}
