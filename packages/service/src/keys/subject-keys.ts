import type { SiteId, SubjectKey } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { pairwisePurpose } from '../sealing/purposes.ts'
import { deriveSubjectKey } from './ids.ts'

/** Undefined for a site that does not exist. */
export async function findSubjectKey(
  { store, keys }: Pick<Deps, 'store' | 'keys'>,
  siteId: SiteId,
): Promise<SubjectKey | undefined> {
  const site = await store.site(siteId)
  return site && deriveSubjectKey(keys.open(pairwisePurpose(siteId), site.pairwiseSecretSealed))
}
