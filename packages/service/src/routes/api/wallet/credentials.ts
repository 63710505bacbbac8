import { formatTime } from '@countersign/core'
import type { IssuedCredential } from '@countersign/core/contract'
import { type IssueOrder, issueForUser } from '../../../actions/issue-for-user.ts'
import { Problem } from '../../../problem.ts'
import type { Route, RouteRequest } from '../../../route.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { isOwnSite } from '../../shared/site-access.ts'

export const issueCredential: Route<'issue_credential'> = async (request, deps) => {
  const { body } = request
  const issued = await issueForUser(
    deps,
    { ...requireOwnOrder(request), holderKey: body.holder_key, delegable: body.delegable },
    auditContext(request, deps),
  )
  const answer: IssuedCredential = {
    // What the core has just signed and read back.
    credential: issued.credential as IssuedCredential['credential'],
    credential_id: issued.credentialId,
    ppid: issued.ppid,
    expires_at: formatTime(issued.expiresAtMs),
    ...(issued.isUserRevoked ? { user_revoked: true } : {}),
  }
  return { status: 201, body: answer }
}

type OrderRequest = Pick<RouteRequest<'create_offer'>, 'caller' | 'body'>

/**
 * What the caller asks to issue. Throws `api_key_forbidden` before anything is looked up: a site
 * that is not the key's looks the same whether it exists or not.
 */
export function requireOwnOrder({ caller, body }: OrderRequest) {
  const { site_id: siteId, scope, permission_id: permissionId, ttl_seconds: ttlSeconds } = body
  if (!isOwnSite(caller, siteId))
    throw new Problem('api_key_forbidden', 'This key cannot issue for another site. Use a key of that site.')
  return { siteId, user: toUser(body), scope, permissionId, ttlSeconds }
}

function toUser({ user_ref: userRef, ppid }: OrderRequest['body']): IssueOrder['user'] {
  if (userRef !== undefined) return { userRef }
  if (ppid !== undefined) return { ppid }
  throw new Problem('validation_failed', 'The request names no user. Send user_ref or ppid.')
}
