import { randomBytes } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import type { Permission } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { createId } from '../keys/ids.ts'
import { createSecretText, secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { ApiKey } from '../store/operations/api-keys.ts'
import type { AuditContext } from '../store/operations/audit.ts'

export interface ApiKeyOrder {
  /** Null for an operator. */
  readonly siteId: SiteId | null
  readonly permissions: readonly Permission[]
  readonly label: string | undefined
  readonly expiresInSeconds: number | undefined
}

/**
 * Creates an API key. Its secret is in the answer and nowhere else. An administrator of a site may
 * grant every permission of the site: a key that can add issuers can grant access to anyone anyway.
 * Throws `not_found` when there is no such site.
 */
export async function createApiKey(
  { store }: Pick<Deps, 'store'>,
  order: ApiKeyOrder,
  context: AuditContext,
): Promise<{ readonly key: ApiKey; readonly secret: string }> {
  const { siteId, permissions, label, expiresInSeconds } = order
  if (siteId !== null && (await store.site(siteId)) === undefined) throw new Problem('not_found')
  const secret = createSecretText('svc_sk_', randomBytes(32))
  const key = await store.createApiKey(
    {
      keyId: createId('key_', context.atMs),
      siteId,
      sha256: secretSha256(secret),
      last4: secret.slice(-4),
      permissions,
      label,
      expiresAtMs: expiresInSeconds === undefined ? undefined : context.atMs + expiresInSeconds * 1000,
    },
    context,
  )
  return { key, secret }
}

/** Changes the label of a key; null removes it. Throws `not_found` when there is no such key. */
export async function changeApiKey(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId | null,
  keyId: string,
  label: string | null,
  context: AuditContext,
): Promise<ApiKey> {
  const changed = await store.changeApiKey(siteId, keyId, label, context)
  if (changed === undefined) throw new Problem('not_found')
  return changed
}

/**
 * Deletes a key of that site: it stops working here immediately, and its feeds end. Throws
 * `not_found` when the site has no such key.
 */
export async function deleteApiKey(
  { store, apiKeys, feeds }: Pick<Deps, 'store' | 'apiKeys' | 'feeds'>,
  siteId: SiteId | null,
  keyId: string,
  context: AuditContext,
): Promise<void> {
  const deleted = await store.deleteApiKey(siteId, keyId, context)
  // Also when the store fails: the cached key must not be used any more.
  apiKeys.forget(keyId)
  feeds.dropKey(keyId)
  if (!deleted) throw new Problem('not_found')
}

/**
 * Deletes an operator key for the caller with the key `ownKeyId`. Throws `key_in_use` for that key
 * itself and for the last one that is valid: without one, sites cannot be created.
 */
export async function deleteOperatorKey(
  { store, apiKeys, feeds }: Pick<Deps, 'store' | 'apiKeys' | 'feeds'>,
  keyId: string,
  ownKeyId: string,
  context: AuditContext,
): Promise<void> {
  if (keyId === ownKeyId)
    throw new Problem(
      'key_in_use',
      'This is the key of the request itself. Create another operator key, and delete this one with it.',
    )
  const deleted = await store.deleteOperatorKey(keyId, context)
  if (deleted === 'last')
    throw new Problem(
      'key_in_use',
      'This is the last valid operator key. Create another one first, or delete it at the store: countersign delete-operator-key.',
    )
  apiKeys.forget(keyId)
  feeds.dropKey(keyId)
  if (!deleted) throw new Problem('not_found')
}
