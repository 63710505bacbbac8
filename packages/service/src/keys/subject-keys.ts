import type { SiteId, SubjectKey } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { SealBroken } from '../sealing/sealer.ts'
import { deriveSubjectKey } from './ids.ts'

/**
 * Undefined for a site that does not exist, and for one whose secret cannot be opened: that site
 * accepts no access tokens of OAuth issuers, and the others are not affected.
 */
export async function findSubjectKey(
  { store, keys, log }: Pick<Deps, 'store' | 'keys' | 'log'>,
  siteId: SiteId,
): Promise<SubjectKey | undefined> {
  const site = await store.site(siteId)
  if (site === undefined) return undefined
  try {
    return deriveSubjectKey(keys.openPairwise(siteId, site.pairwiseSecretSealed))
  } catch (err) {
    if (!(err instanceof SealBroken)) throw err
    log.error({ err, siteId }, 'the secret of a site cannot be opened; it accepts no tokens of OAuth issuers')
    return undefined
  }
}
