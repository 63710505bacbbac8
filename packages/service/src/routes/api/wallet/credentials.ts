import { formatTime, type Ppid, type SiteId } from '@countersign/core'
import type { IssuedCredential } from '@countersign/core/contract'
import { type IssueOrder, issueForUser } from '../../../actions/issue-for-user.ts'
import { Problem } from '../../../problem.ts'
import type { Route, RouteRequest } from '../../../route.ts'
import { auditContext } from '../../shared/audit-context.ts'

export const issueCredential: Route<'issue_credential'> = async (request, deps) => {
  const { body } = request
  requireOwnGrant(request, body.site_id)
  const issued = await issueForUser(
    deps,
    {
      siteId: body.site_id,
      user: toUser(body),
      scope: body.scope,
      permissionId: body.permission_id,
      ttlSeconds: body.ttl_seconds,
      holderKey: body.holder_key,
      delegable: body.delegable,
    },
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

/**
 * Before anything is looked up: a site that is not the key's looks the same whether it exists or
 * not.
 */
export function requireOwnGrant({ caller }: Pick<RouteRequest, 'caller'>, siteId: SiteId): void {
  const isOwn = caller.kind === 'operator' || (caller.kind === 'site' && caller.siteId === siteId)
  if (!isOwn)
    throw new Problem('api_key_forbidden', 'This key cannot issue for another site. Use a key of that site.')
}

export function toUser({
  user_ref,
  ppid,
}: {
  user_ref?: string | undefined
  ppid?: Ppid | undefined
}): IssueOrder['user'] {
  if (user_ref !== undefined) return { userRef: user_ref }
  if (ppid !== undefined) return { ppid }
  throw new Problem('validation_failed', 'The request names no user. Send user_ref or ppid.')
}
