import type { Route } from '../../../route.ts'
import { confirmWhileSending } from '../../shared/confirm-while-sending.ts'
import { requireDeclaredVerifier } from '../../shared/declared-verifier.ts'
import { hasEntityTag } from '../../shared/entity-tags.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireObserver } from '../../shared/require-observer.ts'
import { requireOwnPath } from '../../shared/site-access.ts'

/** Pages of the log are sent as they are stored: a snapshot may be larger than all memory. */
export const snapshot: Route<'snapshot'> = async (
  { caller, params, query, lines, signedIn, confirmCaller },
  { snapshots, meters },
) => {
  requireOwnPath(caller, params.site_id)
  requireObserver(caller, query.observe)
  const order = {
    siteId: params.site_id,
    keyId: requireKeyId(caller),
    verifier: requireDeclaredVerifier(lines, query.observe),
  }
  const known = lines('if-none-match')
  if (known !== undefined) {
    const tag = await snapshots.tag(order.siteId)
    // Without a lease: the answer has no signed head, so it does not prolong the use of the data.
    if (hasEntityTag(known, tag)) {
      meters.snapshot('unchanged')
      return { status: 304, headers: { etag: toEntityTag(tag), vary: 'accept-encoding' } }
    }
  }
  const { tag, ...opened } = await snapshots.open(order)
  const stream = { kind: 'pieces', ...opened } as const
  return {
    status: 200,
    headers: { etag: toEntityTag(tag) },
    stream: signedIn === undefined ? stream : confirmWhileSending(stream, confirmCaller),
  }
}

/** A weak tag: the same state may be signed again, in other bytes. */
function toEntityTag(tag: string): string {
  return `W/"${tag}"`
}
