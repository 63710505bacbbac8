import type { SiteId } from '@countersign/core'
import type { Permission } from '@countersign/core/contract'
import { json, number, optionalNumber, optionalText, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { GRANTING_LOCK, LOG_COLUMNS, loadKeysDeleted, renewGrantingMacs } from './shared/granting-rows.ts'
import { toLogRow } from './shared/log-rows.ts'
import { createRowMac, intactPage, isIntact, requireIntact, updateRow } from './shared/mac-rows.ts'
import { padList } from './shared/pad-list.ts'
import { recordAudit } from './shared/record-audit.ts'

export interface NewApiKey {
  readonly keyId: string
  /** Null for an operator. */
  readonly siteId: SiteId | null
  readonly sha256: string
  readonly last4: string
  readonly permissions: readonly Permission[]
  readonly label: string | undefined
  readonly expiresAtMs: number | undefined
}

export interface ApiKey extends NewApiKey {
  readonly createdAtMs: number
  /** The actor, as in `AuditContext`; undefined for keys of earlier versions. */
  readonly createdBy?: string | undefined
  /** Rounded down to the hour. Only lists have it. */
  readonly lastUsedAtMs?: number | undefined
}

export interface ApiKeyUse {
  readonly keyId: string
  readonly usedAtMs: number
}

const KEY_AND_LOG = `SELECT k.*, ${LOG_COLUMNS} FROM api_keys k JOIN log ON log.one = 1`
const LISTED_KEY = `SELECT k.*, ${LOG_COLUMNS}, u.used_at FROM api_keys k JOIN log ON log.one = 1
    LEFT JOIN api_key_uses u ON u.key_id = k.key_id`

/** Throws when there is no such site, or a key with that id or secret already. */
export function* createApiKey(key: NewApiKey, context: AuditContext): Transaction<ApiKey> {
  yield* lock(GRANTING_LOCK)
  const keys_deleted = yield* loadKeysDeleted()
  const created: Row = {
    key_id: key.keyId,
    site_id: key.siteId,
    sha256: key.sha256,
    last4: key.last4,
    permissions: JSON.stringify(key.permissions),
    label: key.label ?? null,
    expires_at: key.expiresAtMs ?? null,
    created_at: context.atMs,
    created_by: context.actor,
  }
  const mac = yield* createRowMac('api_keys', { ...created, keys_deleted })
  yield* exec(
    `INSERT INTO api_keys (key_id, site_id, sha256, last4, permissions, label, expires_at, created_at, created_by, mac)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    ...Object.values(created),
    mac,
  )
  const detail = { permissions: key.permissions }
  yield* recordAudit({ siteId: key.siteId, action: 'api_key.create', target: key.keyId, detail, context })
  return { ...key, createdAtMs: context.atMs, createdBy: context.actor }
}

/** Changes the label; null removes it. Undefined when there is no such key. */
export function* changeApiKey(
  siteId: SiteId | null,
  keyId: string,
  label: string | null,
  context: AuditContext,
): Transaction<ApiKey | undefined> {
  yield* lock(GRANTING_LOCK)
  const found =
    siteId === null
      ? yield* row(`${LISTED_KEY} WHERE k.key_id = $1 AND k.site_id IS NULL`, keyId)
      : yield* row(`${LISTED_KEY} WHERE k.key_id = $1 AND k.site_id = $2`, keyId, siteId)
  if (found === undefined || !(yield* isLive(found))) return undefined
  const outcome = found.label === label ? 'unchanged' : 'done'
  yield* updateRow('api_keys', found, { label })
  const detail = { changed: ['label'] }
  yield* recordAudit({ siteId, action: 'api_key.change', target: keyId, outcome, detail, context })
  return toApiKey({ ...found, label })
}

/** False when there is no such key. */
export function* deleteApiKey(
  siteId: SiteId | null,
  keyId: string,
  context: AuditContext,
): Transaction<boolean> {
  yield* lock(GRANTING_LOCK)
  return yield* removeKey(siteId, keyId, context)
}

/** Rows of keys that are looked through for a valid one. */
const OTHERS_READ_MAX = 200

/**
 * Deletes an operator key. `last`: no other operator key is valid, and nothing was deleted. False
 * when there is no such key.
 */
export function* deleteOperatorKey(keyId: string, context: AuditContext): Transaction<boolean | 'last'> {
  yield* lock(GRANTING_LOCK)
  const found = yield* row('SELECT 1 AS one FROM api_keys WHERE key_id = $1 AND site_id IS NULL', keyId)
  if (found === undefined) return false
  const others = yield* rows(
    `${KEY_AND_LOG} WHERE k.site_id IS NULL AND k.key_id <> $1 AND (k.expires_at IS NULL OR k.expires_at > $2)
     ORDER BY k.key_id LIMIT $3`,
    keyId,
    context.atMs,
    OTHERS_READ_MAX,
  )
  let hasOther = false
  for (const other of others) hasOther ||= yield* isLive(other)
  return hasOther ? yield* removeKey(null, keyId, context) : 'last'
}

function* removeKey(siteId: SiteId | null, keyId: string, context: AuditContext): Transaction<boolean> {
  const gone =
    siteId === null
      ? yield* row('DELETE FROM api_keys WHERE key_id = $1 AND site_id IS NULL RETURNING key_id', keyId)
      : yield* row('DELETE FROM api_keys WHERE key_id = $1 AND site_id = $2 RETURNING key_id', keyId, siteId)
  if (gone === undefined) return false
  yield* exec('DELETE FROM api_key_uses WHERE key_id = $1', keyId)
  yield* renewGrantingMacs()
  yield* recordAudit({ siteId, action: 'api_key.delete', target: keyId, context })
  return true
}

/** Records when keys were used. None moves back, and none is recorded for a key that is deleted. */
export function* recordKeyUses(uses: readonly ApiKeyUse[]): Transaction<void> {
  yield* lock(GRANTING_LOCK)
  for (const { keyId, usedAtMs } of uses) {
    yield* exec(
      `INSERT INTO api_key_uses (key_id, used_at) SELECT k.key_id, CAST($2 AS BIGINT) FROM api_keys k WHERE k.key_id = $1
       ON CONFLICT (key_id) DO UPDATE SET used_at = excluded.used_at WHERE excluded.used_at > api_key_uses.used_at`,
      keyId,
      usedAtMs,
    )
  }
}

/** Undefined for a key that the service did not write, or has deleted; the lists skip such keys. */
export const apiKeyBySha256 = read(function* (sha256: string): Transaction<ApiKey | undefined> {
  const found = yield* row(`${KEY_AND_LOG} WHERE k.sha256 = $1`, sha256)
  return found && (yield* isLive(found)) ? toApiKey(found) : undefined
})

/**
 * Throws a `RowForged` for a log row that the service did not write: the number of deletions is
 * then unknown, and with it whether the key exists.
 */
function* isLive(found: Row): Transaction<boolean> {
  yield* requireIntact('log', toLogRow(found))
  return yield* isIntact('api_keys', found)
}

/** Those of these keys that exist. */
export const apiKeysById = read(function* (keyIds: readonly string[]): Transaction<readonly ApiKey[]> {
  if (keyIds.length === 0) return []
  const asked = padList(keyIds)
  const found = yield* rows(
    `${KEY_AND_LOG} WHERE k.key_id IN (${asked.map((_, i) => `$${i + 1}`).join(', ')})`,
    ...asked,
  )
  const keys: ApiKey[] = []
  for (const each of found) if (yield* isLive(each)) keys.push(toApiKey(each))
  return keys
})

/** By id, which is the order in which they were created. */
export const apiKeys = read(function* (siteId: SiteId | null, page: Page): Transaction<readonly ApiKey[]> {
  const loadPage = (after: string, limit: number) =>
    siteId === null
      ? rows(
          `${LISTED_KEY} WHERE k.site_id IS NULL AND k.key_id > $1 ORDER BY k.key_id LIMIT $2`,
          after,
          limit,
        )
      : rows(
          `${LISTED_KEY} WHERE k.site_id = $3 AND k.key_id > $1 ORDER BY k.key_id LIMIT $2`,
          after,
          limit,
          siteId,
        )
  return (yield* intactPage('api_keys', page, loadPage, (found) => text(found, 'key_id'))).map(toApiKey)
})

function toApiKey(row: Row): ApiKey {
  return {
    keyId: text(row, 'key_id'),
    siteId: (optionalText(row, 'site_id') as SiteId | undefined) ?? null,
    sha256: text(row, 'sha256'),
    last4: text(row, 'last4'),
    permissions: json(row, 'permissions'),
    label: optionalText(row, 'label'),
    expiresAtMs: optionalNumber(row, 'expires_at'),
    createdAtMs: number(row, 'created_at'),
    createdBy: optionalText(row, 'created_by'),
    ...(row.used_at === undefined ? {} : { lastUsedAtMs: optionalNumber(row, 'used_at') }),
  }
}
