import type { Route } from '../../../route.ts'
import { requireDeclaredVerifier } from '../../shared/declared-verifier.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireOwnPath } from '../../shared/site-access.ts'

/** Lines are written as they are read: a snapshot may be larger than all memory. */
export const snapshot: Route<'snapshot'> = async ({ caller, params, query, lines }, { snapshots }) => {
  requireOwnPath(caller, params.site_id)
  const order = {
    siteId: params.site_id,
    keyId: requireKeyId(caller),
    verifier: requireDeclaredVerifier(lines, query.observe),
  }
  return { status: 200, stream: { kind: 'pieces', ...(await snapshots.open(order)) } }
}
