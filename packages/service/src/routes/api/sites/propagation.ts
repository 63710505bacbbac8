import type { PropagationReceipt } from '@countersign/core/contract'
import { loadPropagation } from '../../../actions/propagation.ts'
import type { Route } from '../../../route.ts'
import { propagationBody } from '../../propagation-body.ts'
import { requireKeyId } from '../../require-key-id.ts'
import { siteInPath } from '../../site-in-path.ts'

export const propagationReceipt: Route<'propagation_receipt'> = async (request, deps) => {
  const { siteId } = await siteInPath(request, deps)
  const read = () => loadPropagation(deps, siteId, request.query.seq)
  const { entry, receipt } = await deps.verifiers.query(requireKeyId(request.caller), siteId, read)
  const body: PropagationReceipt = { epoch: entry.epoch, seq: entry.seq, ...propagationBody(receipt) }
  return { status: 200, body }
}
