import { type Allow, formatTime, type Subject } from '@countersign/core'
import type { ProtectedActionAnswer } from '@countersign/core/contract'
import { guard } from '../../../actions/guard.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { whenKnown } from '../../../when-known.ts'

/** The reference protected route: what an integrator's own route looks like behind the guard. */
export const protectedAction: Route<'protected_action'> = (request, deps) => {
  const { protectedSite: siteId, protectedScope: scope } = deps.config
  if (siteId === undefined)
    throw new Problem(
      'not_found',
      'this service protects no route of its own; the operator can set protected_site',
    )
  const passage = { presented: request.presentation(), siteId, scope, request: request.holderRequest }
  return whenKnown(guard(deps, passage), (allow) => {
    if (allow.presented === 'credential') deps.seen.record(allow)
    const { epoch, seq, ageMs } = allow.view
    const action = request.body?.action
    const view = `{"epoch":"${epoch}","seq":${seq},"age_ms":${Math.ceil(ageMs)}}`
    const echo = action === undefined || action === null ? 'null' : JSON.stringify(action)
    // By hand: what is new in it is three numbers and the echo.
    const body = `{"allowed":true,"action":${echo},"subject":${subjectText(allow)},"presented":"${allow.presented}","view":${view}}`
    return { status: 200, body, contentType: 'application/json' }
  })
}

/**
 * Who it is does not change while a credential or token is remembered, only what is left of its
 * scope: what was written can be sent again.
 */
const written = new WeakMap<object, { readonly scope: Subject['scope']; readonly text: string }>()

function subjectText(allow: Allow): string {
  const { subject } = allow
  const shown = allow.presented === 'credential' ? allow.credential : allow.token
  const before = written.get(shown)
  if (before?.scope === subject.scope) return before.text
  const described: ProtectedActionAnswer['subject'] = {
    ppid: subject.ppid,
    site_id: subject.siteId,
    scope: [...subject.scope],
    credential_id: subject.credentialId,
    permission_id: subject.permissionId,
    expires_at: formatTime(subject.expiresAtMs),
  }
  const text = JSON.stringify(described)
  written.set(shown, { scope: subject.scope, text })
  return text
}
