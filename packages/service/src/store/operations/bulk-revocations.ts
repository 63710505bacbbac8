import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import { text } from '../columns.ts'
import type { Logged } from '../logged.ts'
import { lock, type Row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import {
  type Revoked,
  type RevokedUser,
  revokeCredential,
  revokeUsers,
  type Unconfirmed,
} from './revocations.ts'
import { credentialLock, userLock } from './shared/chain-locks.ts'
import { BY_ID_FIRST } from './shared/credential-rows.ts'
import { padList } from './shared/pad-list.ts'
import { revokeTokenById, type TokenRevocation } from './tokens.ts'

/** What is revoked together or not at all. No id is there twice. */
export interface TargetsAtSite {
  readonly siteId: SiteId
  readonly ppids: readonly Ppid[]
  readonly credentialIds: readonly CredentialId[]
  /** Of tokens. */
  readonly jtis: readonly string[]
  readonly reason: string | undefined
}

export interface RevokedCredential extends Logged<Revoked> {
  readonly credentialId: CredentialId
}

export interface RevokedToken {
  readonly jti: string
  /** Undefined when there is no such token, or it has expired. */
  readonly revocation: Logged<TokenRevocation> | undefined
}

/** In the order of the request. */
export interface RevokedAll {
  readonly users: readonly RevokedUser[]
  readonly credentials: readonly RevokedCredential[]
  readonly tokens: readonly RevokedToken[]
  /** Whether at least one of them was revoked before, which the caller confirms with its view. */
  readonly alreadyRevoked: boolean
  readonly position: number
}

/** Answers that the log does not confirm: see `revokeUser`. */
export interface UnconfirmedTargets {
  readonly users: readonly RevokedUser[]
  readonly credentials: readonly (Unconfirmed & { readonly credentialId: CredentialId })[]
  readonly tokens: readonly { readonly jti: string }[]
}

/** More tokens than this are not locked in advance; then PostgreSQL may have to repeat it. */
const LOCKED_TOKENS_MAX = 4096

/**
 * Revokes users, credentials and tokens in one transaction. Each is revoked as by its own
 * operation, with its own entry and audit row.
 */
export function* revokeAll(
  { siteId, ppids, credentialIds, jtis, reason }: TargetsAtSite,
  context: AuditContext,
  unconfirmed: UnconfirmedTargets = { users: [], credentials: [], tokens: [] },
): Transaction<RevokedAll> {
  yield* lockTargets(siteId, ppids, credentialIds, jtis)
  const { users, position } =
    ppids.length === 0
      ? { users: [], position: undefined }
      : yield* revokeUsers({ siteId, ppids, reason }, context, unconfirmed.users)
  const credentials: RevokedCredential[] = []
  for (const credentialId of credentialIds) {
    const claimed = unconfirmed.credentials.find((each) => each.credentialId === credentialId)
    const revoked = yield* revokeCredential({ siteId, credentialId, reason }, context, claimed)
    credentials.push({ ...revoked, credentialId })
  }
  const tokens: RevokedToken[] = []
  for (const jti of jtis) {
    const isUnconfirmed = unconfirmed.tokens.some((each) => each.jti === jti)
    tokens.push({ jti, revocation: yield* revokeTokenById({ siteId, jti, reason }, context, isUnconfirmed) })
  }
  const found = tokens.flatMap(({ revocation }) => revocation ?? [])
  const positions = [
    ...(position === undefined ? [] : [position]),
    ...[...credentials, ...found].map((each) => each.position),
  ]
  return {
    users,
    credentials,
    tokens,
    alreadyRevoked: [...users, ...credentials, ...found].some((each) => each.alreadyRevoked),
    position: positions.includes(0) ? 0 : Math.max(0, ...positions),
  }
}

/**
 * Takes all locks before the first entry is appended, which blocks every other append. A
 * transaction that holds one of them and waits to append would otherwise wait for this one.
 */
function* lockTargets(
  siteId: SiteId,
  ppids: readonly Ppid[],
  credentialIds: readonly CredentialId[],
  jtis: readonly string[],
): Transaction<void> {
  const holders = yield* findTokens(siteId, 'link_id', credentialIds)
  const named = yield* findTokens(siteId, 'jti', jtis)
  const owned = yield* findTokens(siteId, 'ppid', ppids)
  const known = yield* findOwners(siteId, credentialIds)
  const owners = [...holders, ...known].map((found) => text(found, 'ppid') as Ppid)
  const tokens = [...holders, ...named, ...owned].map((found) => `token ${text(found, 'sha256')}`)
  yield* lock(
    ...[...ppids, ...owners].map((ppid) => userLock(siteId, ppid)),
    ...credentialIds.map((id) => credentialLock(siteId, id)),
    ...tokens,
  )
}

function* findTokens(
  siteId: SiteId,
  column: 'link_id' | 'jti' | 'ppid',
  names: readonly string[],
): Transaction<readonly Row[]> {
  const list = padList(names)
  if (list.length === 0) return []
  const parameters = list.map((_, i) => `$${i + 3}`).join(', ')
  return yield* rows(
    column === 'link_id'
      ? `SELECT t.sha256, t.ppid FROM token_links l JOIN tokens t ON t.sha256 = l.sha256
         WHERE l.site_id = $1 AND l.link_id IN (${parameters}) LIMIT $2`
      : `SELECT t.sha256, t.ppid FROM tokens t WHERE t.site_id = $1 AND t.${column} IN (${parameters}) LIMIT $2`,
    siteId,
    LOCKED_TOKENS_MAX,
    ...list,
  )
}

function* findOwners(siteId: SiteId, ids: readonly CredentialId[]): Transaction<readonly Row[]> {
  const list = padList(ids)
  if (list.length === 0) return []
  return yield* rows(
    `SELECT ppid FROM credentials WHERE ${BY_ID_FIRST} AND credential_id IN (${list.map((_, i) => `$${i + 2}`).join(', ')})`,
    siteId,
    ...list,
  )
}
