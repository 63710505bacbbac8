import type { JsonValue } from '@countersign/core'
import { receiveSignal } from '../../../actions/receive-signal.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'

/** POST /api/sites/{site_id}/signals/logout */
export const receiveLogout: Route<'receive_logout'> = async (request, deps) => {
  const { params, body, requestId, releaseWhile } = request
  const token = body.logout_token
  if (token === undefined)
    throw new Problem('signal_invalid', 'The form has no logout_token. Send the logout token in it.')
  await receiveSignal(deps, {
    siteId: params.site_id,
    type: 'backchannel_logout',
    token,
    requestId,
    releaseWhile,
  })
  return { status: 200 }
}

/** POST /api/sites/{site_id}/signals/token-revocation */
export const receiveTokenRevocation: Route<'receive_token_revocation'> = async (request, deps) => {
  const { params, body, lines, requestId, releaseWhile } = request
  const [, token] = /^Bearer ([\w.-]+)$/i.exec(lines('authorization')?.[0] ?? '') ?? []
  if (token === undefined)
    throw new Problem('token_invalid', 'The request has no token of its sender. Send it in Authorization.')
  const subject = body.sub_id as JsonValue
  const siteId = params.site_id
  await receiveSignal(deps, { siteId, type: 'token_revocation', token, subject, requestId, releaseWhile })
  return { status: 204 }
}

/** POST /api/sites/{site_id}/signals/events */
export const receiveEvent: Route<'receive_event'> = async (request, deps) => {
  const { params, body, requestId, releaseWhile } = request
  await receiveSignal(deps, { siteId: params.site_id, type: 'events', token: body, requestId, releaseWhile })
  return { status: 202 }
}
