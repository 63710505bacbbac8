import type { SiteId } from '@countersign/core'

/** The name and purpose of a text that only identifies the master key of the store. */
export const MASTER_KEY_SEAL = 'master-key'

/** The pairwise secret of a site opens for no other site. */
export function pairwisePurpose(siteId: SiteId): string {
  return `pairwise:${siteId}`
}

/** The kept answer to a request opens only for that request. */
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

/** The secrets of a webhook open for no other webhook and no other site. */
export function webhookPurpose(siteId: SiteId, webhookId: string): string {
  return `webhook:${siteId}:${webhookId}`
}

/** The client's state opens only for this sign-in. */
export function clientStatePurpose(stateSha256: string): string {
  return `sign-in:${stateSha256}`
}
