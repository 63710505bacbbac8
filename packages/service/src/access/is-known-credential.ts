import type { AllowCredential } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { seenCredential } from './seen-credentials.ts'

/**
 * Whether the presented credential is the one that its site knows by that id. Records it if the
 * site knows none. A revocation by id revokes every credential with that id, and a holder who
 * delegates chooses the id, which may be that of another credential.
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
