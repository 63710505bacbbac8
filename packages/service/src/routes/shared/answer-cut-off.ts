import { formatTime, type SiteId } from '@countersign/core'
import type { CutOff } from '@countersign/core/contract'
import type { CutOffDone } from '../../actions/cut-off.ts'
import type { RouteAnswer } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import { type WaitingRequest, withPropagation } from './with-propagation.ts'

/** The answer to a cut-off of any kind, after the wait that the caller prefers. */
export function answerCutOff(
  request: WaitingRequest,
  deps: Pick<Deps, 'verifiers' | 'log'>,
  siteId: SiteId,
  kind: CutOff['kind'],
  target: string,
  { epoch, seq, beforeMs, alreadyRevoked, users }: CutOffDone,
): Promise<RouteAnswer> {
  const body: CutOff = {
    success: true,
    kind,
    site_id: siteId,
    target,
    before: formatTime(beforeMs),
    already_revoked: alreadyRevoked,
    ...(users === undefined ? {} : { entries: users.map((user) => ({ ppid: user.ppid, seq: user.seq })) }),
    epoch,
    seq,
  }
  return withPropagation(request, deps, siteId, { epoch, seq, atMs: beforeMs }, body)
}
