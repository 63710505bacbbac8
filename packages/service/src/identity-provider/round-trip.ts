import { randomBytes } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import { SealBroken, type Sealer } from '../sealing/sealer.ts'

/** What a sign-in with the identity provider must come back with, and where it goes on. */
export interface RoundTrip {
  readonly state: string
  readonly nonce: string
  /** RFC 7636. */
  readonly codeVerifier: string
  readonly redirectUri: string
  /** The page of the console to open then. */
  readonly returnTo: string
  readonly startedAtMs: number
  /** Whether the person must authenticate once more at the provider. */
  readonly isStepUp: boolean
  /** The only person who may sign in. Undefined: anyone. */
  readonly personId: string | undefined
  /** The hash of the session that the browser has, which the new one replaces. */
  readonly replaced: string | undefined
}

const PURPOSE = 'console sign-in'
const AHEAD_MS_MAX = 60_000

export function createRoundTrip(given: Omit<RoundTrip, 'state' | 'nonce' | 'codeVerifier'>): RoundTrip {
  const random = () => randomBytes(32).toString('base64url')
  return { ...given, state: random(), nonce: random(), codeVerifier: random() }
}

/** For the cookie of the browser, which cannot read it. */
export function sealRoundTrip(sealer: Pick<Sealer, 'seal'>, trip: RoundTrip): string {
  return sealer.seal(PURPOSE, JSON.stringify(trip))
}

/** Undefined for a text that the service did not seal, and after ten minutes. */
export function openRoundTrip(
  sealer: Pick<Sealer, 'open'>,
  sealed: string | undefined,
  nowMs: number,
): RoundTrip | undefined {
  if (sealed === undefined) return undefined
  try {
    const trip = JSON.parse(sealer.open(PURPOSE, sealed)) as RoundTrip
    const ageMs = nowMs - trip.startedAtMs
    // Another node may have begun it, and its clock may be ahead.
    return ageMs > -AHEAD_MS_MAX && ageMs < limits.console_sign_in_seconds * 1000 ? trip : undefined
  } catch (error) {
    if (error instanceof SealBroken) return undefined
    throw error
  }
}
