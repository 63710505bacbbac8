import type { AllowCredential } from '@countersign/core'
import type { Caller } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
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

function toActor(caller: Caller, allow: AllowCredential | undefined): string {
  if (caller.kind !== 'anonymous' && caller.person !== undefined) return `person:${caller.person.personId}`
  if (caller.kind === 'operator') return `operator:${caller.keyId}`
  if (caller.kind === 'site') return `key:${caller.keyId}`
  if (allow === undefined) throw new TypeError('a caller without a key or a credential cannot act')
  return `holder:${allow.subject.credentialId}`
}
