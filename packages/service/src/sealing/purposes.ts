import type { SiteId } from '@countersign/core'

/**
 * Under this name and for this purpose lies a text that tells nothing but the master key which the
 * store is sealed under.
 */
export const MASTER_KEY_SEAL = 'master-key'

/** For which a site's pairwise secret is sealed: it opens as no other site's. */
export function pairwisePurpose(siteId: SiteId): string {
  return `pairwise:${siteId}`
}

/** For which the kept answer to a request is sealed: it opens for that very request only. */
export function answerPurpose({
  owner,
  sha256,
  requestSha256,
}: {
  readonly owner: string
  readonly sha256: string
  readonly requestSha256: string
}): string {
  return `answer:${owner}:${sha256}:${requestSha256}`
}

/**
 * For which a webhook's secrets are sealed: they open as no other webhook's, nor at another site.
 */
export function webhookPurpose(siteId: SiteId, webhookId: string): string {
  return `webhook:${siteId}:${webhookId}`
}

/** For which the integration's own state is sealed: it opens for this sign-in only. */
export function clientStatePurpose(stateSha256: string): string {
  return `sign-in:${stateSha256}`
}
