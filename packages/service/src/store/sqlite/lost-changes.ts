import { type Entry, formatTime, type Ppid, parseTime, type SiteId } from '@countersign/core'
import { number, text } from '../columns.ts'
import {
  countLost,
  type DistrustedIssuer,
  type EndedKey,
  type KeptCutOff,
  type LostChanges,
  type RevokedCredential,
  type RevokedToken,
  type RevokedUser,
  type StoreRevocations,
} from '../lost-changes.ts'
import type { PortOperations } from '../operations/all.ts'
import type { AuditContext } from '../operations/audit.ts'
import type { NewCutOff } from '../operations/cut-offs.ts'
import { toEntry } from '../operations/shared/log-rows.ts'
import type { Row } from '../transaction.ts'
import type { SqliteSession } from './session.ts'

const PAGE = 1000

/**
 * Reads the log of a store in its current epoch. Skips entries that do not parse, and checks no
 * hash: a damaged store is the usual reason for a restore, and what is read here can only revoke.
 */
function readRevocations(session: SqliteSession): StoreRevocations {
  const users = new Map<string, RevokedUser>()
  const credentials = new Map<string, RevokedCredential>()
  const tokens = new Map<string, RevokedToken>()
  const issuers = new Map<string, DistrustedIssuer>()
  const keys = new Map<string, EndedKey>()
  const cutOffs = new Map<string, KeptCutOff>()
  const cutOff = (siteId: SiteId, kind: KeptCutOff['kind'], target: string, before: string) => {
    const name = `${siteId} ${kind} ${target}`
    const beforeMs = parseTime(before) ?? 0
    // The latest, because a cut-off never moves back.
    if (!((cutOffs.get(name)?.beforeMs ?? -1) > beforeMs))
      cutOffs.set(name, { siteId, kind, target, beforeMs })
  }
  const endKey = (key: EndedKey) => {
    const name = `${key.siteId} ${key.issuer} ${key.keyId}`
    if (keys.get(name)?.status !== 'compromised') keys.set(name, key)
  }
  for (const { site_id: siteId, kind, body, at } of entriesIn(session)) {
    const atMs = parseTime(at) ?? 0
    switch (kind) {
      case 'user.revoked':
      case 'user.reinstated': {
        const { ppid } = body
        const name = `${siteId} ${ppid}`
        const known = users.get(name)
        const isRevoked = kind === 'user.revoked'
        const revokedAtMs = isRevoked ? atMs : (known?.revokedAtMs ?? atMs)
        const before = known?.cutoffMs ?? 0
        const cutoffMs = isRevoked ? before : Math.max(before, parseTime(body.reinstated_at) ?? atMs)
        users.set(name, { siteId, ppid, isRevoked, revokedAtMs, cutoffMs })
        break
      }
      case 'credential.revoked':
        credentials.set(`${siteId} ${body.credential_id}`, { siteId, credentialId: body.credential_id, atMs })
        break
      case 'token.revoked':
        tokens.set(`${siteId} ${body.token_sha256}`, { siteId, sha256: body.token_sha256, atMs })
        break
      case 'issuer.distrusted':
        issuers.set(`${siteId} ${body.issuer}`, { siteId, issuer: body.issuer, atMs })
        break
      case 'issuer.trusted':
      case 'oauth_issuer.trusted':
        issuers.delete(`${siteId} ${body.issuer}`)
        for (const { id: keyId, status } of body.keys) {
          const name = `${siteId} ${body.issuer} ${keyId}`
          if (status !== 'active') endKey({ siteId, issuer: body.issuer, keyId, status, atMs })
          else if (keys.get(name)?.status === 'retired') keys.delete(name)
        }
        break
      case 'key.compromised':
      case 'key.retired':
        endKey({
          siteId,
          issuer: body.issuer,
          keyId: body.key_id,
          status: kind === 'key.retired' ? 'retired' : 'compromised',
          atMs,
        })
        break
      case 'user.signed_out':
        cutOff(siteId, kind, body.ppid, body.before)
        break
      case 'holder.revoked':
        cutOff(siteId, kind, body.thumbprint, body.revoked_at)
        break
      case 'issuer.cut_off':
        cutOff(siteId, kind, body.issuer, body.before)
        break
      case 'site.cut_off':
        cutOff(siteId, kind, siteId, body.before)
        break
    }
  }
  return { users, credentials, tokens, issuers, keys, cutOffs }
}

function* entriesIn(session: SqliteSession): Generator<Entry> {
  const [log] = session.rows('SELECT epoch FROM log WHERE one = 1')
  if (log === undefined) return
  for (let after = 0; ; ) {
    const page = session.rows(
      'SELECT * FROM entries WHERE epoch = $1 AND position > $2 ORDER BY position LIMIT $3',
      text(log, 'epoch'),
      after,
      PAGE,
    )
    for (const row of page) {
      const entry = readableEntry(row)
      if (entry !== undefined) yield entry
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = number(last, 'position')
  }
}

function readableEntry(row: Row): Entry | undefined {
  try {
    return toEntry(row)
  } catch {
    return undefined
  }
}

/** What `replaced` revokes and `restored` does not. */
export function findLostChanges(replaced: SqliteSession, restored: SqliteSession): LostChanges {
  const [before, after] = [readRevocations(replaced), readRevocations(restored)]
  const sites = new Set(restored.rows('SELECT site_id FROM sites').map((row) => text(row, 'site_id')))
  const lost = <T extends { readonly siteId: SiteId }>(
    all: ReadonlyMap<string, T>,
    isThere: (name: string, each: T) => boolean,
  ) => new Map([...all].filter(([name, each]) => sites.has(each.siteId) && !isThere(name, each)))
  const kept = new Set(replaced.rows('SELECT key_id FROM api_keys').map((row) => text(row, 'key_id')))
  const gone = restored
    .rows('SELECT key_id, site_id FROM api_keys')
    .filter((row) => !kept.has(text(row, 'key_id')))
  return {
    users: lost(before.users, (name, { isRevoked, cutoffMs }) => {
      const known = after.users.get(name)
      return known !== undefined && (known.isRevoked || (!isRevoked && known.cutoffMs >= cutoffMs))
    }),
    credentials: lost(before.credentials, (name) => after.credentials.has(name)),
    tokens: lost(before.tokens, (name) => after.tokens.has(name)),
    issuers: lost(before.issuers, (name) => after.issuers.has(name)),
    keys: lost(before.keys, (name, { status }) =>
      [status, 'compromised'].includes(after.keys.get(name)?.status ?? ''),
    ),
    cutOffs: lost(before.cutOffs, (name, { kind, beforeMs }) => {
      const known = after.cutOffs.get(name)
      return known !== undefined && (kind === 'holder.revoked' || known.beforeMs >= beforeMs)
    }),
    apiKeys: gone.map((row) => ({ keyId: text(row, 'key_id'), siteId: row.site_id as SiteId | null })),
    sites: replaced
      .rows('SELECT site_id FROM sites ORDER BY site_id')
      .map((row) => text(row, 'site_id'))
      .filter((site) => !sites.has(site)),
  }
}

/**
 * Revokes in a store what another one had revoked, at the original times, so that newer credentials
 * stay valid.
 */
export async function applyRevocations(
  operations: PortOperations,
  lost: LostChanges,
  context: AuditContext,
): Promise<void> {
  const at = (atMs: number): AuditContext => ({ ...context, atMs: Math.min(atMs, context.atMs) })
  const reason = 'kept when a backup was restored'
  // The log of the backup has none of these, so a row that says "revoked" is wrong and must not
  // prevent the revocation.
  for (const { siteId, credentialId, atMs } of lost.credentials.values()) {
    const answer = await operations.revokeCredential({ siteId, credentialId, reason }, at(atMs))
    if (answer.alreadyRevoked)
      await operations.revokeCredential({ siteId, credentialId, reason }, at(atMs), answer)
  }
  for (const { siteId, ppid, isRevoked, revokedAtMs, cutoffMs } of lost.users.values()) {
    const answer = await operations.revokeUser({ siteId, ppid, reason }, at(revokedAtMs))
    if (answer.alreadyRevoked) await operations.revokeUser({ siteId, ppid, reason }, at(revokedAtMs), answer)
    if (!isRevoked) await operations.reinstateUser({ siteId, ppid, reason }, at(cutoffMs))
  }
  // A token that the backup does not have is unknown, and needs no revocation.
  for (const { siteId, sha256, atMs } of lost.tokens.values())
    await operations.revokeToken({ siteId, sha256, reason }, at(atMs))
  for (const { siteId, issuer, atMs } of lost.issuers.values())
    await operations.changeIssuer(siteId, issuer, { status: 'distrusted' }, at(atMs))
  for (const { siteId, issuer, keyId, status, atMs } of lost.keys.values())
    await operations.changeIssuerKey(siteId, issuer, keyId, status, at(atMs))
  for (const { siteId, kind, target, beforeMs } of lost.cutOffs.values()) {
    const context = at(beforeMs)
    const before = formatTime(context.atMs)
    if (kind === 'user.signed_out')
      await operations.signOutUsers(
        { siteId, ppids: [target as Ppid], beforeMs: context.atMs, reason },
        context,
      )
    else await operations.cutOff(toOrder({ siteId, kind, target, before, reason }), context)
  }
  for (const { keyId, siteId } of lost.apiKeys) await operations.deleteApiKey(siteId, keyId, context)
  await operations.audit({
    siteId: null,
    action: 'log.keep_revocations',
    target: undefined,
    detail: countLost(lost),
    context,
  })
}

function toOrder({
  kind,
  before,
  ...order
}: Pick<NewCutOff, 'siteId' | 'kind' | 'target' | 'reason'> & { readonly before: string }): NewCutOff {
  const { target } = order
  if (kind === 'holder.revoked') return { ...order, kind, body: { thumbprint: target, revoked_at: before } }
  return kind === 'issuer.cut_off'
    ? { ...order, kind, body: { issuer: target, before } }
    : { ...order, kind, body: { before } }
}
