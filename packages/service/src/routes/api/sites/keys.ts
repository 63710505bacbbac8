import { formatTime } from '@countersign/core'
import type { ApiKey as ApiKeyBody, CreatedKey } from '@countersign/core/contract'
import { changeApiKey, createApiKey, deleteApiKey } from '../../../actions/api-keys.ts'
import { toActorBody } from '../../../audit-list/audit-body.ts'
import type { Route } from '../../../route.ts'
import type { ApiKey } from '../../../store/operations/api-keys.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireOwnPath, requireSiteInPath } from '../../shared/site-access.ts'

/** The only answer that ever holds the key itself. */
export const createKey: Route<'create_key'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const { key, secret } = await createApiKey(
    deps,
    {
      siteId: params.site_id,
      permissions: body.permissions,
      label: body.label,
      expiresInSeconds: body.expires_in_seconds,
    },
    auditContext(request, deps),
  )
  const created: CreatedKey = { key_id: key.keyId, api_key: secret, permissions: [...key.permissions] }
  return { status: 201, body: created }
}

export const listKeys: Route<'list_keys'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  return answerPage(
    request,
    deps,
    `keys ${siteId}`,
    (page) => deps.store.apiKeys(siteId, page),
    ({ keyId }) => keyId,
    toApiKeyBody,
  )
}

export const changeKey: Route<'change_key'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const context = auditContext(request, deps)
  const key = await changeApiKey(deps, params.site_id, params.key_id, body.label, context)
  return { status: 200, body: toApiKeyBody(key) }
}

export const deleteKey: Route<'delete_key'> = async (request, deps) => {
  const { caller, params } = request
  requireOwnPath(caller, params.site_id)
  await deleteApiKey(deps, params.site_id, params.key_id, auditContext(request, deps))
  return { status: 204 }
}

function toApiKeyBody(key: ApiKey): ApiKeyBody {
  return { ...toListedKey(key), permissions: [...key.permissions] }
}

/** What lists show of a key, of a site or of operators. */
export function toListedKey(key: ApiKey): Omit<ApiKeyBody, 'permissions'> {
  return {
    key_id: key.keyId,
    label: key.label ?? null,
    last4: key.last4,
    created_at: formatTime(key.createdAtMs),
    created_by: key.createdBy === undefined ? null : toActorBody(key.createdBy),
    expires_at: toOptionalTime(key.expiresAtMs),
    last_used_at: toOptionalTime(key.lastUsedAtMs),
  }
}
