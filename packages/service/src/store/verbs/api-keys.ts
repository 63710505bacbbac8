import type { SiteId } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text } from '../columns.ts'
import { type Program, type Row, row, rows } from '../program.ts'
import type { Act, ApiKey, NewApiKey, Page } from '../store.ts'
import { auditDone } from './audit.ts'
import { insertRow, intact, intactPage, isIntact } from './macs.ts'

/** Throws when there is no such site, or a key of that name or secret already. */
export function* createApiKey(key: NewApiKey, act: Act): Program<ApiKey> {
  yield* insertRow('api_keys', {
    key_id: key.keyId,
    site_id: key.siteId,
    sha256: key.sha256,
    last4: key.last4,
    permissions: JSON.stringify(key.permissions),
    label: key.label ?? null,
    expires_at: key.expiresAtMs ?? null,
    created_at: act.atMs,
  })
  const detail = { permissions: key.permissions }
  yield* auditDone({ siteId: key.siteId, action: 'api_key.create', target: key.keyId, outcome: 'done', detail, act })
  return { ...key, createdAtMs: act.atMs }
}

export function* deleteApiKey(siteId: SiteId | null, keyId: string, act: Act): Program<boolean> {
  const gone =
    siteId === null
      ? yield* row('DELETE FROM api_keys WHERE key_id = $1 AND site_id IS NULL RETURNING key_id', keyId)
      : yield* row('DELETE FROM api_keys WHERE key_id = $1 AND site_id = $2 RETURNING key_id', keyId, siteId)
  if (gone === undefined) return false
  yield* auditDone({ siteId, action: 'api_key.delete', target: keyId, outcome: 'done', act })
  return true
}

/** A key that the service did not write does not exist, here and below. */
export function* apiKeyBySha256(sha256: string): Program<ApiKey | undefined> {
  const found = yield* intact('api_keys', yield* row('SELECT * FROM api_keys WHERE sha256 = $1', sha256))
  return found && apiKeyOf(found)
}

export function* apiKeysById(keyIds: readonly string[]): Program<readonly ApiKey[]> {
  const last = keyIds.at(-1)
  if (last === undefined) return []
  // Few different statements, so that each is prepared once: the last one is asked for as often as it takes.
  const asked = [...keyIds, ...Array<string>(4 ** Math.ceil(Math.log(keyIds.length) / Math.log(4)) - keyIds.length).fill(last)]
  const found = yield* rows(`SELECT * FROM api_keys WHERE key_id IN (${asked.map((_, i) => `$${i + 1}`).join(', ')})`, ...asked)
  const keys: ApiKey[] = []
  for (const each of found) if (yield* isIntact('api_keys', each)) keys.push(apiKeyOf(each))
  return keys
}

/** By name, which is the order in which they were made. */
export function* apiKeys(siteId: SiteId | null, page: Page): Program<readonly ApiKey[]> {
  const read = (after: string, limit: number) =>
    siteId === null
      ? rows('SELECT * FROM api_keys WHERE site_id IS NULL AND key_id > $1 ORDER BY key_id LIMIT $2', after, limit)
      : rows('SELECT * FROM api_keys WHERE site_id = $3 AND key_id > $1 ORDER BY key_id LIMIT $2', after, limit, siteId)
  return (yield* intactPage('api_keys', page, read, (found) => text(found, 'key_id'))).map(apiKeyOf)
}

function apiKeyOf(row: Row): ApiKey {
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
