import { parseHeadHeader } from '@countersign/core'
import { headerNames, parseFeedCursor } from '@countersign/core/contract'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { requireDeclaredVerifier } from '../../shared/declared-verifier.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireObserver } from '../../shared/require-observer.ts'
import { requireOwnPath } from '../../shared/site-access.ts'

/** A proxy must not keep it, change it or wait for more of it. */
const AS_IT_COMES = { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }
const PROXY_FIELDS = ['via', 'forwarded', 'x-forwarded-for']

export const feed: Route<'feed'> = async (
  { caller, params, query, lines, signedIn },
  { feeds, heads, store, meters },
) => {
  requireOwnPath(caller, params.site_id)
  requireObserver(caller, query.observe)
  const shown = parseHeadHeader(lines(headerNames.verifierHead)?.[0] ?? '')
  if (shown !== undefined) await heads.shown(params.site_id, shown)
  const cursor = parseFeedCursor(lines(headerNames.lastEventId)?.[0] ?? query.after)
  const order = {
    siteId: params.site_id,
    keyId: requireKeyId(caller),
    session: signedIn?.session,
    cursor,
    verifier: requireDeclaredVerifier(lines, query.observe),
    isProxied: PROXY_FIELDS.some((name) => lines(name) !== undefined),
  }
  const { verifierId, accept, release } = await feeds.open(order).catch((fault: unknown) => {
    // A claim without proof ends nothing: any key could make it.
    if (fault instanceof Problem && fault.code === 'cursor_ahead' && cursor?.epoch === store.epoch)
      meters.cursorAhead()
    throw fault
  })
  return {
    status: 200,
    headers: { ...AS_IT_COMES, [headerNames.verifierId]: verifierId },
    stream: { kind: 'connection', accept, release },
  }
}
