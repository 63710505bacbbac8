import type { CredentialId, PermissionId, Ppid, SiteId } from '@countersign/core'
import { json, number, optionalNumber, text } from '../columns.ts'
import type { NewToken, Page, SeenCredential, TokenRow } from '../store.ts'
import { exec, lock, type Row, row, rows, type Transaction } from '../transaction.ts'
import { recordCredentials } from './credentials.ts'
import { insertRow, intact, intactPage } from './macs.ts'

/**
 * A revocation of the user or of a credential of the chain holds the same lock: either the token is
 * there to be killed, or the revocation is there to be seen.
 */
export function* createToken(
  token: NewToken,
  livingMax: number,
  nowMs: number,
  seen?: SeenCredential,
): Transaction<'created' | 'revoked' | 'too_many'> {
  const { siteId, ppid, chain } = token
  const leaf = chain[0]
  if (leaf === undefined) throw new TypeError('a token stands on a credential')
  yield* lockChain(token)
  if (seen !== undefined) yield* recordCredentials([seen], nowMs)
  if (yield* isRevoked(token)) return 'revoked'
  // By the whole chain: the delegating holder chooses the id, and must not use up the allowance of
  // another credential that has it.
  const living = yield* row(
    `SELECT COUNT(*) AS living FROM tokens
     WHERE site_id = $1 AND credential_id = $2 AND chain = $4 AND revoked_at IS NULL AND expires_at > $3`,
    siteId,
    leaf.credentialId,
    nowMs,
    JSON.stringify(chain),
  )
  if (living === undefined || number(living, 'living') >= livingMax) return 'too_many'
  yield* insertRow('tokens', {
    sha256: token.sha256,
    jti: token.jti,
    site_id: siteId,
    ppid,
    scope: JSON.stringify(token.scope),
    permission_id: token.permissionId,
    credential_id: leaf.credentialId,
    chain: JSON.stringify(chain),
    issuer: token.issuer,
    issuer_key: token.issuerKey,
    issued_at: token.issuedAtMs,
    expires_at: token.expiresAtMs,
  })
  for (const linkId of toLinkIds(chain)) {
    yield* exec(
      'INSERT INTO token_links (sha256, site_id, link_id) VALUES ($1, $2, $3)',
      token.sha256,
      siteId,
      linkId,
    )
  }
  return 'created'
}

/** Something that stands on credentials and dies with any of them. */
type Standing = Pick<NewToken, 'siteId' | 'ppid' | 'chain'>

function toLinkIds(chain: NewToken['chain']): readonly CredentialId[] {
  return [...new Set(chain.map(({ credentialId }) => credentialId))]
}

/**
 * Holds off revocations of the user or of a credential of the chain, until the transaction has
 * ended.
 */
export function* lockChain({ siteId, ppid, chain }: Standing): Transaction<void> {
  yield* lock(userLock(siteId, ppid), ...toLinkIds(chain).map((id) => credentialLock(siteId, id)))
}

/** What the store says, under the locks of the chain. */
export function* isRevoked({ siteId, ppid, chain }: Standing): Transaction<boolean> {
  const linkIds = toLinkIds(chain)
  const list = linkIds.map((_, i) => `$${i + 2}`).join(', ')
  const byId = yield* row(
    `SELECT 1 AS one FROM credential_revocations WHERE site_id = $1 AND credential_id IN (${list}) LIMIT 1`,
    siteId,
    ...linkIds,
  )
  if (byId !== undefined) return true
  const user = yield* row('SELECT revoked, cutoff FROM users WHERE site_id = $1 AND ppid = $2', siteId, ppid)
  if (user === undefined) return false
  const cutoffMs = optionalNumber(user, 'cutoff')
  if (number(user, 'revoked') === 1 || cutoffMs === undefined) return true
  // Written so that a time that is not a number counts as old.
  return !chain.every(({ createdMs }) => createdMs > cutoffMs)
}

export function userLock(siteId: SiteId, ppid: Ppid): string {
  return `user ${siteId} ${ppid}`
}

export function credentialLock(siteId: SiteId, credentialId: CredentialId): string {
  return `credential ${siteId} ${credentialId}`
}

/** A token that the service did not write does not exist, here and below. */
export function* token(sha256: string): Transaction<TokenRow | undefined> {
  const found = yield* intact('tokens', yield* row('SELECT * FROM tokens WHERE sha256 = $1', sha256))
  return found && toToken(found)
}

/** By `jti`, the last first: ids that sort by time give the newest first. */
export function* tokens(
  siteId: SiteId,
  { ppid }: { ppid?: Ppid },
  page: Page,
): Transaction<readonly TokenRow[]> {
  const read = (after: string, limit: number) =>
    rows(
      `SELECT * FROM tokens WHERE site_id = $1 AND ${ppid === undefined ? 'CAST($2 AS TEXT) IS NULL' : 'ppid = $2'}
         AND ${after === '' ? 'CAST($3 AS TEXT) IS NOT NULL' : 'jti < $3'} ORDER BY jti DESC LIMIT $4`,
      siteId,
      ppid ?? null,
      after,
      limit,
    )
  return (yield* intactPage('tokens', page, read, (found) => text(found, 'jti'))).map(toToken)
}

export function toToken(row: Row): TokenRow {
  return {
    sha256: text(row, 'sha256'),
    jti: text(row, 'jti'),
    siteId: text(row, 'site_id') as SiteId,
    ppid: text(row, 'ppid') as Ppid,
    scope: json(row, 'scope'),
    permissionId: text(row, 'permission_id') as PermissionId,
    chain: json(row, 'chain'),
    issuer: text(row, 'issuer'),
    issuerKey: text(row, 'issuer_key'),
    issuedAtMs: number(row, 'issued_at'),
    expiresAtMs: number(row, 'expires_at'),
    revokedAtMs: optionalNumber(row, 'revoked_at'),
  }
}
