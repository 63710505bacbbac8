import { type CredentialId, formatTime, type LogPosition, type SiteId } from '@countersign/core'
import type { Logged } from '../../logged.ts'
import { exec, type Transaction } from '../../transaction.ts'
import { appendEntry } from './append-entry.ts'

interface CredentialRevocation {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly type: 'user' | 'credential'
  readonly reason: string | undefined
  readonly tokensRevoked: number
}

/** Appends the entry of a revoked credential, and writes its row. */
export function* writeCredentialRevocation(
  revocation: CredentialRevocation,
  atMs: number,
): Transaction<Logged<LogPosition>> {
  const { siteId, credentialId, type, reason, tokensRevoked } = revocation
  const body = { credential_id: credentialId, revoked_at: formatTime(atMs) }
  const { epoch, seq, position } = yield* appendEntry(siteId, 'credential.revoked', body, atMs)
  yield* exec(
    `INSERT INTO credential_revocations (site_id, credential_id, type, at, reason, tokens_revoked, seq, position)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (site_id, credential_id) DO UPDATE SET type = excluded.type, at = excluded.at, reason = excluded.reason,
       tokens_revoked = excluded.tokens_revoked, seq = excluded.seq, position = excluded.position`,
    siteId,
    credentialId,
    type,
    atMs,
    reason ?? null,
    tokensRevoked,
    seq,
    position,
  )
  return { epoch, seq, position }
}
