import { formatTime } from '@countersign/core'
import type { Verifier, VerifierPage } from '@countersign/core/contract'
import type { ConnectedVerifier } from '../../../feed/receipt.ts'
import { listPage } from '../../cursor.ts'
import type { Route } from '../../route.ts'
import { siteInPath } from '../../site-in-path.ts'

/** Whoever is connected now, so a page is of now and the next of then. */
export const listVerifiers: Route<'list_verifiers'> = async (request, deps) => {
  const { siteId } = await siteInPath(request, deps)
  const { limit, cursor } = request.query
  const headSeq = deps.views.view(siteId)?.head.seq ?? 0
  const body: VerifierPage = await listPage(
    deps.keys,
    { list: `verifiers ${siteId}`, limit, cursor },
    async ({ after = '', limit: rows }) => {
      const named = (await deps.verifiers.connected(siteId)).map((verifier) => ({ name: nameOf(verifier), verifier }))
      const rest = named.filter(({ name }) => name > after).sort((one, other) => (one.name < other.name ? -1 : 1))
      return rest.slice(0, rows).map(({ verifier }) => verifier)
    },
    nameOf,
    (verifier) => verifierBody(verifier, headSeq),
  )
  return { status: 200, body }
}

/** Two keys may have a verifier of the same name. */
function nameOf({ verifierId, keyId }: ConnectedVerifier): string {
  return `${verifierId} ${keyId}`
}

function verifierBody({ verifierId, connectedAtMs, seq, acknowledgedAtMs }: ConnectedVerifier, headSeq: number): Verifier {
  return {
    verifier_id: verifierId,
    connected_at: formatTime(connectedAtMs),
    seq,
    lag: Math.max(0, headSeq - seq),
    acknowledged_at: acknowledgedAtMs === undefined ? null : formatTime(acknowledgedAtMs),
  }
}
