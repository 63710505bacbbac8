import { formatTime } from '@countersign/core'
import type { ProtectedActionAnswer } from '@countersign/core/contract'
import { guard } from '../../../actions/guard.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../route.ts'

/** The reference protected route: what an integrator's own route looks like behind the guard. */
export const protectedAction: Route<'protected_action'> = async (request, deps) => {
  const { protectedSite: siteId, protectedScope: scope } = deps.config
  if (siteId === undefined) throw new Problem('not_found', 'this service protects no route of its own; the operator can set protected_site')
  const allow = await guard(deps, { presented: request.presentation(), siteId, scope, request: request.holderRequest })
  if (allow.presented === 'credential') deps.seen.record(allow)
  const { subject, view } = allow
  const body: ProtectedActionAnswer = {
    allowed: true,
    action: request.body?.action ?? null,
    subject: {
      ppid: subject.ppid,
      site_id: subject.siteId,
      scope: [...subject.scope],
      credential_id: subject.credentialId,
      permission_id: subject.permissionId,
      expires_at: formatTime(subject.expiresAtMs),
    },
    presented: allow.presented,
    view: { epoch: view.epoch, seq: view.seq, age_ms: Math.ceil(view.ageMs) },
  }
  return { status: 200, body }
}
