import type { PropagationReceipt } from '@countersign/core/contract'
import { loadPropagation } from '../../../actions/propagation.ts'
import type { Route } from '../../../route.ts'
import { toPropagationBody } from '../../shared/propagation-body.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const propagationReceipt: Route<'propagation_receipt'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const read = () => loadPropagation(deps, siteId, request.query.seq)
  const { entry, receipt } = await deps.verifiers.query(requireKeyId(request.caller), siteId, read)
  const body: PropagationReceipt = { epoch: entry.epoch, seq: entry.seq, ...toPropagationBody(receipt) }
  return { status: 200, body }
}
