import { formatTime } from '@countersign/core'
import type { Route } from '../../../route.ts'
import { toOauthToken } from '../../shared/oauth-token.ts'

/** The reference protected route: what a route of an integrator looks like behind the guard. */
export const protectedAction: Route<'protected_action'> = async ({ access, body }, deps) => {
  if (access.presented === 'credential') deps.seen.record(access)
  const { subject, view, presented } = access
  return {
    status: 200,
    body: {
      allowed: true,
      action: body.action ?? null,
      subject: {
        ppid: subject.ppid,
        site_id: subject.siteId,
        scope: subject.scope,
        credential_id: subject.credentialId,
        permission_id: subject.permissionId,
        expires_at: formatTime(subject.expiresAtMs),
      },
      presented,
      ...(access.presented === 'jwt' ? { token: toOauthToken(access.jwt) } : {}),
      view: { epoch: view.epoch, seq: view.seq, age_ms: Math.ceil(view.ageMs) },
    },
  }
}
