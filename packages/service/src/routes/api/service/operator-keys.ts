import type { CreatedOperatorKey } from '@countersign/core/contract'
import { changeApiKey, createApiKey, deleteOperatorKey as remove } from '../../../actions/api-keys.ts'
import type { Route } from '../../../route.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireOperator } from '../../shared/site-access.ts'
import { toListedKey } from '../sites/keys.ts'

/** The only answer that ever holds the key itself. */
export const createOperatorKey: Route<'create_operator_key'> = async (request, deps) => {
  const { body, caller } = request
  requireOperator(caller)
  const { key, secret } = await createApiKey(
    deps,
    { siteId: null, permissions: [], label: body.label, expiresInSeconds: body.expires_in_seconds },
    auditContext(request, deps),
  )
  const created: CreatedOperatorKey = { key_id: key.keyId, api_key: secret }
  return { status: 201, body: created }
}

export const listOperatorKeys: Route<'list_operator_keys'> = async (request, deps) => {
  requireOperator(request.caller)
  return answerPage(
    request,
    deps,
    'operator keys',
    (page) => deps.store.apiKeys(null, page),
    ({ keyId }) => keyId,
    toListedKey,
  )
}

export const changeOperatorKey: Route<'change_operator_key'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOperator(caller)
  const key = await changeApiKey(deps, null, params.key_id, body.label, auditContext(request, deps))
  return { status: 200, body: toListedKey(key) }
}

export const deleteOperatorKey: Route<'delete_operator_key'> = async (request, deps) => {
  const { caller, params } = request
  requireOperator(caller)
  await remove(deps, params.key_id, requireKeyId(caller), auditContext(request, deps))
  return { status: 204 }
}
