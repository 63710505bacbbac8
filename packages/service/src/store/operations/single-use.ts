import { row, type Transaction } from '../transaction.ts'

/** True for exactly one of all requests for this kind and name before `expiresAtMs`. */
export function* consumeOnce(
  kind: 'nonce' | 'state' | 'code' | 'payload' | 'offer' | 'challenge' | 'round_trip',
  sha256: string,
  expiresAtMs: number,
): Transaction<boolean> {
  const used = yield* row(
    'INSERT INTO used_once (kind, sha256, expires_at) VALUES ($1, $2, $3) ON CONFLICT (kind, sha256) DO NOTHING RETURNING kind',
    kind,
    sha256,
    expiresAtMs,
  )
  return used !== undefined
}
