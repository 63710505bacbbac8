import type { AllowCredential } from '@countersign/core'
import type { Caller } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import type { AuditContext } from '../../store/operations/audit.ts'

/** The actor and the time for the audit: the owner of the key, or the holder of the credential. */
export function auditContext(
  { caller, requestId }: { readonly caller: Caller; readonly requestId: string },
  { clock }: Pick<Deps, 'clock'>,
  allow?: AllowCredential,
): AuditContext {
  return { actor: toActor(caller, allow), atMs: clock.nowMs(), requestId }
}

function toActor(caller: Caller, allow: AllowCredential | undefined): string {
  if (caller.kind === 'operator') return `operator:${caller.keyId}`
  if (caller.kind === 'site') return `key:${caller.keyId}`
  if (allow === undefined) throw new TypeError('a caller without a key or a credential cannot act')
  return `holder:${allow.subject.credentialId}`
}
