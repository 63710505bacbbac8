import { randomBytes, timingSafeEqual } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import type { Sealer } from '../sealing/sealer.ts'
import { secretSha256 } from './secret-text.ts'

/**
 * What a challenge is for. One for a session is valid in that session only, and each is valid at
 * one origin only.
 */
export type ChallengePurpose =
  | { readonly act: 'sign_in'; readonly origin: string }
  | { readonly act: 'step_up' | 'add'; readonly origin: string; readonly sessionId: string }

export interface Challenge {
  /** For the list of used challenges. */
  readonly sha256: string
  readonly expiresAtMs: number
}

const RANDOM_BYTES = 16
const TIME_BYTES = 6
const MAC_BYTES = 16
const NAME_BYTES = RANDOM_BYTES + TIME_BYTES

/**
 * A challenge that every node accepts: random bytes, the time of its end and a MAC over both and
 * the purpose. Nothing is stored for it, so callers without a session cannot fill the store; the
 * transaction that uses it records its hash, so it is valid once.
 */
export function createChallenge(
  keys: Pick<Sealer, 'mac'>,
  purpose: ChallengePurpose,
  nowMs: number,
): { readonly challenge: string; readonly expiresAtMs: number } {
  const expiresAtMs = nowMs + limits.passkey_challenge_seconds * 1000
  const name = Buffer.concat([randomBytes(RANDOM_BYTES), Buffer.alloc(TIME_BYTES)])
  name.writeUIntBE(expiresAtMs, RANDOM_BYTES, TIME_BYTES)
  const mac = keys.mac(toText(purpose), name.toString('hex'))
  return { challenge: Buffer.concat([name, mac]).toString('base64url'), expiresAtMs }
}

/** Undefined unless this service has created it for this purpose, and it has not ended. */
export function parseChallenge(
  keys: Pick<Sealer, 'mac'>,
  purpose: ChallengePurpose,
  challenge: string,
  nowMs: number,
): Challenge | undefined {
  const bytes = Buffer.from(challenge, 'base64url')
  if (bytes.length !== NAME_BYTES + MAC_BYTES || bytes.toString('base64url') !== challenge) return undefined
  const name = bytes.subarray(0, NAME_BYTES)
  const mac = keys.mac(toText(purpose), name.toString('hex'))
  if (!timingSafeEqual(bytes.subarray(NAME_BYTES), mac)) return undefined
  const expiresAtMs = name.readUIntBE(RANDOM_BYTES, TIME_BYTES)
  return expiresAtMs > nowMs ? { sha256: secretSha256(challenge), expiresAtMs } : undefined
}

function toText(purpose: ChallengePurpose): string {
  const session = purpose.act === 'sign_in' ? '' : purpose.sessionId
  return `passkey ${purpose.act} ${purpose.origin} ${session}`
}
