import { keyOf } from '../../key-of.ts'
import type { Route } from '../../route.ts'
import { requireOwnPath } from '../../site-in-path.ts'

/** Lines are written as they are read: a snapshot may be larger than all memory. */
export const snapshot: Route<'snapshot'> = async ({ caller, params }, { snapshots }) => {
  requireOwnPath(caller, params.site_id)
  return { status: 200, stream: { kind: 'pieces', pieces: await snapshots.take(params.site_id, keyOf(caller)) } }
}
