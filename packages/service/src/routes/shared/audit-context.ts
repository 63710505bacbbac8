import type { AllowCredential } from '@countersign/core'
import type { WaitingCaller } from '../../actions/waiting-caller.ts'
import type { Caller } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import type { RouteRequest } from '../../route.ts'
import type { AuditContext } from '../../store/operations/audit.ts'

interface AuditedRequest {
  readonly caller: Caller
  readonly requestId: string
  readonly reason: string | undefined
}

/**
 * Who acts, when and why, for the audit. The actor is the owner of the key, the person in the
 * console, or the holder of the credential.
 */
export function auditContext(
  request: AuditedRequest,
  { clock }: Pick<Deps, 'clock'>,
  allow?: AllowCredential,
): AuditContext {
  const { caller, requestId, reason } = request
  return { actor: toActor(caller, allow), atMs: clock.nowMs(), requestId, reason }
}

/** For an action that waits before it changes anything. */
export function toWaitingCaller(
  request: AuditedRequest & Pick<RouteRequest, 'confirmCaller' | 'releaseWhile'>,
  deps: Pick<Deps, 'clock'>,
): WaitingCaller {
  return {
    releaseWhile: request.releaseWhile,
    async confirm() {
      await request.confirmCaller()
      return auditContext(request, deps)
    },
  }
}

function toActor(caller: Caller, allow: AllowCredential | undefined): string {
  if (caller.kind !== 'anonymous' && caller.person !== undefined) return `person:${caller.person.personId}`
  if (caller.kind === 'operator') return `operator:${caller.keyId}`
  if (caller.kind === 'site') return `key:${caller.keyId}`
  if (allow === undefined) throw new TypeError('a caller without a key or a credential cannot act')
  return `holder:${allow.subject.credentialId}`
}
