import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import { text } from '../../columns.ts'
import { rows, type Transaction } from '../../transaction.ts'
import type { AuditContext } from '../audit.ts'
import { writeCredentialRevocation } from './credential-revocation.ts'

/** Which credentials: those of a user, of an issuer, or all of the site. */
interface SignedAhead {
  readonly siteId: SiteId
  readonly ppid?: Ppid
  readonly issuer?: string
  /** Those signed later by a clock that is ahead. */
  readonly signedAfterMs: number
  /** Default: whenever it was seen. A later time saves reading all credentials of a site. */
  readonly seenAfterMs?: number
  readonly reason: string | undefined
}

/** Whether the log has revoked the credential `c` by its id. A row alone proves nothing. */
export const IS_REVOKED_IN_LOG = `EXISTS (SELECT 1 FROM credential_revocations r JOIN log ON log.one = 1
  JOIN entries e ON e.epoch = log.epoch AND e.site_id = r.site_id AND e.seq = r.seq
  WHERE r.site_id = c.site_id AND r.credential_id = c.credential_id AND e.kind = 'credential.revoked'
    AND replace(e.body, '"' || r.credential_id || '"', '') <> e.body)`

/**
 * Revokes known credentials by id that were signed by a clock that is ahead, so that a cut-off by
 * time does not miss them. Skips those that the log has revoked by id; a row without such an entry
 * is not trusted.
 */
export function* revokeSignedAhead(
  { siteId, ppid, issuer, signedAfterMs, seenAfterMs = 0, reason }: SignedAhead,
  context: AuditContext,
): Transaction<void> {
  // With `+` and `CAST`, SQLite reads those of the user, or those seen lately. Otherwise it reads
  // all credentials of the site that have not expired.
  const ahead = yield* rows(
    `SELECT c.credential_id FROM credentials c WHERE c.site_id = $1 AND c.created > $2 AND +c.valid_until > $3
       AND ${ppid === undefined ? 'c.known_at > $4 AND CAST($5 AS TEXT) IS NULL' : '+c.known_at > $4 AND c.ppid = $5'}
       AND ${issuer === undefined ? 'CAST($6 AS TEXT) IS NULL' : 'CAST(c.issuer AS TEXT) = $6'}
       AND NOT ${IS_REVOKED_IN_LOG}
     ORDER BY c.credential_id`,
    siteId,
    signedAfterMs,
    context.atMs,
    seenAfterMs,
    ppid ?? null,
    issuer ?? null,
  )
  for (const found of ahead) {
    const credentialId = text(found, 'credential_id') as CredentialId
    const type = ppid === undefined ? 'credential' : 'user'
    yield* writeCredentialRevocation({ siteId, credentialId, type, reason, tokensRevoked: 0 }, context.atMs)
  }
}
