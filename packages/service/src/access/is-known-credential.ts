import type { AllowCredential } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { seenCredential } from './seen-credentials.ts'

/**
 * Whether what was presented is the credential that its site knows by that id, and becomes known by
 * it now if none was. A revocation by id takes every credential of that id, and a holder who
 * delegates chooses the id: it may be that of another credential.
 */
export async function isKnownCredential(
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
  allow: AllowCredential,
): Promise<boolean> {
  const seen = seenCredential(allow, 'presented')
  await store.recordCredentials([seen], clock.nowMs())
  const [known] = await store.statuses([seen.credentialId], seen.siteId)
  if (known === undefined) return false
  return (
    known.ppid === seen.ppid &&
    known.issuer === seen.issuer &&
    JSON.stringify(known.chain) === JSON.stringify(seen.chain)
  )
}
