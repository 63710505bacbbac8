import type { AllowCredential } from '@countersign/core'
import type { Caller } from '../answer.ts'
import type { Deps } from '../deps.ts'
import type { Act } from '../store/store.ts'

/**
 * Who acts with this request, and when, for the audit: the owner of the key, else the holder of the
 * accepted credential.
 */
export function actOf(
  { caller, requestId }: { readonly caller: Caller; readonly requestId: string },
  { clock }: Pick<Deps, 'clock'>,
  allow?: AllowCredential,
): Act {
  return { actor: actorOf(caller, allow), atMs: clock.nowMs(), requestId }
}

function actorOf(caller: Caller, allow: AllowCredential | undefined): string {
  if (caller.kind === 'operator') return `operator:${caller.keyId}`
  if (caller.kind === 'site') return `key:${caller.keyId}`
  if (allow === undefined) throw new TypeError('a caller without a key or a credential cannot act')
  return `holder:${allow.subject.credentialId}`
}
