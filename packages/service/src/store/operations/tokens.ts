import { type CredentialId, formatTime, type Ppid, type SiteId } from '@countersign/core'
import { number, optionalNumber, text } from '../columns.ts'
import type { Logged, SiteEntryPosition } from '../logged.ts'
import type { Page } from '../page.ts'
import { exec, lock, type Row, read, reportForged, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { recordCredential, type SeenCredential } from './credentials.ts'
import { appendEntry } from './shared/append-entry.ts'
import { isRevoked, lockChain, toLinkIds } from './shared/chain-locks.ts'
import { type GrantedAccess, toAccess, toAccessColumns } from './shared/granted-access.ts'
import { insertRow, intact, intactPage, requireIntact } from './shared/mac-rows.ts'
import { AUDIT_REJECTED, recordAudit } from './shared/record-audit.ts'

export interface NewToken extends GrantedAccess {
  readonly sha256: string
  readonly jti: string
  readonly issuedAtMs: number
}

export interface TokenRow extends NewToken {
  readonly revokedAtMs: number | undefined
}

/** Which tokens of a site: those of a user, or the one with this hash. */
export interface TokenFilter {
  readonly ppid?: Ppid | undefined
  readonly sha256?: string | undefined
}

export interface TokenRevocation {
  readonly alreadyRevoked: boolean
  readonly token: TokenRow
  /** Undefined when it was revoked before. */
  readonly entry: SiteEntryPosition | undefined
}

/**
 * Creates a token unless its credential, a parent of it or its user is revoked, at whatever moment
 * that happens: a revocation takes the same locks. `too_many`: the credential has as many live
 * tokens as it may have. In every case, records the credential if `seen` is given.
 */
export function* createToken(
  token: NewToken,
  livingMax: number,
  nowMs: number,
  seen?: SeenCredential,
): Transaction<'created' | 'revoked' | 'too_many'> {
  const { siteId, chain } = token
  const leaf = chain[0]
  if (leaf === undefined) throw new TypeError('a token needs a credential')
  yield* lockChain(token)
  if (seen !== undefined) yield* recordCredential(seen, 'new', nowMs)
  if (yield* isRevoked(token)) return 'revoked'
  // By the whole chain: a delegating holder chooses the id, and must not exhaust the limit of
  // another credential with the same id.
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
    ...toAccessColumns(token),
    sha256: token.sha256,
    jti: token.jti,
    credential_id: leaf.credentialId,
    issued_at: token.issuedAtMs,
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

/** Undefined for a token that the service did not write; `tokens` skips such tokens. */
export const token = read(function* (sha256: string): Transaction<TokenRow | undefined> {
  const found = yield* intact('tokens', yield* row('SELECT * FROM tokens WHERE sha256 = $1', sha256))
  return found && toToken(found)
})

/** By `jti`, the last first: ids sort by time, so the newest comes first. */
export const tokens = read(function* (
  siteId: SiteId,
  { ppid, sha256 }: TokenFilter,
  page: Page,
): Transaction<readonly TokenRow[]> {
  const loadPage = (after: string, limit: number) =>
    rows(
      `SELECT * FROM tokens WHERE site_id = $1 AND ${ppid === undefined ? 'CAST($2 AS TEXT) IS NULL' : 'ppid = $2'}
         AND ${sha256 === undefined ? 'CAST($5 AS TEXT) IS NULL' : 'sha256 = $5'}
         AND ${after === '' ? 'CAST($3 AS TEXT) IS NOT NULL' : 'jti < $3'} ORDER BY jti DESC LIMIT $4`,
      siteId,
      ppid ?? null,
      after,
      limit,
      sha256 ?? null,
    )
  return (yield* intactPage('tokens', page, loadPage, (found) => text(found, 'jti'))).map(toToken)
})

function toToken(row: Row): TokenRow {
  return {
    ...toAccess(row),
    sha256: text(row, 'sha256'),
    jti: text(row, 'jti'),
    issuedAtMs: number(row, 'issued_at'),
    revokedAtMs: optionalNumber(row, 'revoked_at'),
  }
}

/**
 * Undefined when there is no such token, or not at that site (`siteId` undefined looks at all
 * sites); that leaves an audit row, too. The caller confirms `alreadyRevoked` as for `revokeUser`,
 * and asks again with `isUnconfirmed`. Throws a `RowForged` for a token with a wrong MAC.
 */
export function* revokeToken(
  { sha256, siteId, reason }: { sha256: string; siteId: SiteId | undefined; reason: string | undefined },
  context: AuditContext,
  isUnconfirmed = false,
): Transaction<Logged<TokenRevocation> | undefined> {
  yield* lock(`token ${sha256}`)
  const found = yield* row('SELECT * FROM tokens WHERE sha256 = $1', sha256)
  // Otherwise a changed row would send the entry to another site, or say that the token has ended.
  if (found !== undefined) yield* requireIntact('tokens', found)
  const isForeign = found === undefined || (siteId !== undefined && siteId !== found.site_id)
  // An expired token may have been purged, and the answer must not depend on that.
  if (isForeign || number(found, 'expires_at') <= context.atMs) {
    yield* recordAudit({
      siteId: siteId ?? null,
      action: 'token.revoke',
      target: sha256,
      outcome: AUDIT_REJECTED,
      reason,
      context,
    })
    return undefined
  }
  const token = toToken(found)
  const done = { siteId: token.siteId, action: 'token.revoke', target: token.jti, reason, context } as const
  // A revocation of its user or credential may be revoking it at this moment; the update waits for
  // that and then changes nothing.
  const revoked = yield* row(
    'UPDATE tokens SET revoked_at = $2 WHERE sha256 = $1 AND revoked_at IS NULL RETURNING sha256',
    sha256,
    context.atMs,
  )
  if (revoked === undefined) {
    if (!isUnconfirmed) {
      yield* recordAudit({ ...done, outcome: 'unchanged' })
      return { alreadyRevoked: true, token, entry: undefined, position: 0 }
    }
    yield* reportForged({ table: 'tokens', key: sha256 })
  }
  const body = { token_sha256: sha256, revoked_at: formatTime(context.atMs) }
  const { epoch, seq, position } = yield* appendEntry(token.siteId, 'token.revoked', body, context.atMs)
  yield* recordAudit({ ...done, seq })
  return {
    alreadyRevoked: false,
    token,
    entry: { siteId: token.siteId, epoch, seq, atMs: context.atMs },
    position,
  }
}

/** The same for a token of a site by its id, which lists show. */
export function* revokeTokenById(
  { siteId, jti, reason }: { siteId: SiteId; jti: string; reason: string | undefined },
  context: AuditContext,
  isUnconfirmed = false,
): Transaction<Logged<TokenRevocation> | undefined> {
  const named = yield* row('SELECT sha256 FROM tokens WHERE site_id = $1 AND jti = $2', siteId, jti)
  if (named !== undefined)
    return yield* revokeToken({ sha256: text(named, 'sha256'), siteId, reason }, context, isUnconfirmed)
  yield* recordAudit({
    siteId,
    action: 'token.revoke',
    target: jti,
    outcome: AUDIT_REJECTED,
    reason,
    context,
  })
  return undefined
}

/** Tokens of a credential, or of one that was delegated from it. In the order of `tokens`. */
export const tokensOfLink = read(function* (
  siteId: SiteId,
  linkId: CredentialId,
  page: Page,
): Transaction<readonly TokenRow[]> {
  const loadPage = (after: string, limit: number) =>
    rows(
      `SELECT t.* FROM token_links l JOIN tokens t ON t.sha256 = l.sha256 WHERE l.site_id = $1 AND l.link_id = $2
         AND ${after === '' ? 'CAST($3 AS TEXT) IS NOT NULL' : 't.jti < $3'} ORDER BY t.jti DESC LIMIT $4`,
      siteId,
      linkId,
      after,
      limit,
    )
  return (yield* intactPage('tokens', page, loadPage, (found) => text(found, 'jti'))).map(toToken)
})

/** The hash of the token with this id; undefined if the site has none. */
export const tokenSha256 = read(function* (siteId: SiteId, jti: string): Transaction<string | undefined> {
  const found = yield* row('SELECT sha256 FROM tokens WHERE site_id = $1 AND jti = $2', siteId, jti)
  return found && text(found, 'sha256')
})
