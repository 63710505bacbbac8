import { formatTime, type Ppid, type SiteId } from '@countersign/core'
import { text } from '../columns.ts'
import { RowForged } from '../errors.ts'
import { countLost, type LostChanges } from '../lost-changes.ts'
import type { PortOperations } from '../operations/all.ts'
import type { AuditContext } from '../operations/audit.ts'
import type { NewCutOff } from '../operations/cut-offs.ts'
import { findLostAccess } from './lost-access.ts'
import { readRevocations } from './read-revocations.ts'
import type { SqliteSession } from './session.ts'

/** What `replaced` revokes and `restored` does not. */
export function findLostChanges(replaced: SqliteSession, restored: SqliteSession): LostChanges {
  const [before, after] = [readRevocations(replaced, 'replaced'), readRevocations(restored, 'restored')]
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
    ...findLostAccess(replaced, restored),
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
  await endLostAccess(operations, lost, reason, context)
  await operations.audit({
    siteId: null,
    action: 'log.keep_revocations',
    target: undefined,
    detail: countLost(lost),
    context,
  })
}

async function endLostAccess(
  operations: PortOperations,
  { people, passkeys, sessions }: LostChanges,
  reason: string,
  context: AuditContext,
): Promise<void> {
  for (const { personId, roles } of people) {
    const change = roles === undefined ? ({ status: 'ended' } as const) : { roles }
    await operations.changePerson(personId, change, Infinity, reason, context).catch((fault: unknown) => {
      // A row that the service did not write gives no access.
      if (!(fault instanceof RowForged)) throw fault
    })
  }
  for (const { personId, passkeyId } of passkeys)
    await operations.removePasskey(personId, passkeyId, '', context)
  for (const { personId, sessionId } of sessions)
    await operations.endConsoleSession(personId, sessionId, context)
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
