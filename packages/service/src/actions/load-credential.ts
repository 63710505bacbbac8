import type { ChainLink, CredentialId, SiteId } from '@countersign/core'
import { type CredentialStatus, limits } from '@countersign/core/contract'
import { requireFresh } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import type { CredentialRow } from '../store/operations/credentials.ts'
import { toCredentialState } from './revocation-status.ts'

export interface LoadedCredential {
  readonly row: CredentialRow
  /** The nearest first, the root last. */
  readonly parents: readonly { readonly link: ChainLink; readonly status: CredentialStatus }[]
  /** What was delegated from it, directly or not. */
  readonly descendants: readonly CredentialRow[]
  /** Whether these are all known descendants. */
  readonly isComplete: boolean
}

/**
 * A known credential with its chain and its descendants. Undefined if the service has not seen it.
 * Throws a Problem when the view of this node is stale.
 */
export async function loadCredential(
  deps: Pick<Deps, 'store' | 'views' | 'clock'>,
  siteId: SiteId,
  id: CredentialId,
): Promise<LoadedCredential | undefined> {
  const { store, views, clock } = deps
  requireFresh(views, 'store_unavailable')
  const [row] = await store.statuses([id], siteId)
  if (row === undefined) return undefined
  const links = row.chain.slice(1)
  const known = await store.statuses(
    links.map(({ credentialId }) => credentialId),
    siteId,
  )
  // One more than is shown, and the credential itself.
  const page = { after: undefined, limit: limits.descendants_listed_max + 2 }
  const found = await store.credentialsNamed(siteId, { ppids: [], linkIds: [id] }, page)
  const descendants = found.filter(({ credentialId }) => credentialId !== id)
  requireFresh(views, 'store_unavailable')
  const nowMs = clock.nowMs()
  const toStatus = (credentialId: CredentialId): CredentialStatus => {
    const parent = known.find((each) => each.credentialId === credentialId)
    if (parent !== undefined) return toCredentialState(deps, parent, nowMs).status
    return views.view(siteId)?.credentialRevocation(credentialId) === undefined ? 'unknown' : 'revoked'
  }
  return {
    row,
    parents: links.map((link) => ({ link, status: toStatus(link.credentialId) })),
    descendants: descendants.slice(0, limits.descendants_listed_max),
    isComplete: descendants.length <= limits.descendants_listed_max,
  }
}
