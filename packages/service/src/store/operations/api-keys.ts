import type { SiteId } from '@countersign/core'
import type { Permission } from '@countersign/core/contract'
import { json, number, optionalNumber, optionalText, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { GRANTING_LOCK, LOG_COLUMNS, loadKeysDeleted, renewGrantingMacs } from './shared/granting-rows.ts'
import { toLogRow } from './shared/log-rows.ts'
import { createRowMac, intactPage, isIntact, requireIntact } from './shared/mac-rows.ts'
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
}

const KEY_AND_LOG = `SELECT k.*, ${LOG_COLUMNS} FROM api_keys k JOIN log ON log.one = 1`

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
  }
  const mac = yield* createRowMac('api_keys', { ...created, keys_deleted })
  yield* exec(
    `INSERT INTO api_keys (key_id, site_id, sha256, last4, permissions, label, expires_at, created_at, mac)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    ...Object.values(created),
    mac,
  )
  const detail = { permissions: key.permissions }
  yield* recordAudit({ siteId: key.siteId, action: 'api_key.create', target: key.keyId, detail, context })
  return { ...key, createdAtMs: context.atMs }
}

/** False when there is no such key. */
export function* deleteApiKey(
  siteId: SiteId | null,
  keyId: string,
  context: AuditContext,
): Transaction<boolean> {
  yield* lock(GRANTING_LOCK)
  const gone =
    siteId === null
      ? yield* row('DELETE FROM api_keys WHERE key_id = $1 AND site_id IS NULL RETURNING key_id', keyId)
      : yield* row('DELETE FROM api_keys WHERE key_id = $1 AND site_id = $2 RETURNING key_id', keyId, siteId)
  if (gone === undefined) return false
  yield* renewGrantingMacs()
  yield* recordAudit({ siteId, action: 'api_key.delete', target: keyId, context })
  return true
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
          `${KEY_AND_LOG} WHERE k.site_id IS NULL AND k.key_id > $1 ORDER BY k.key_id LIMIT $2`,
          after,
          limit,
        )
      : rows(
          `${KEY_AND_LOG} WHERE k.site_id = $3 AND k.key_id > $1 ORDER BY k.key_id LIMIT $2`,
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
  }
}
