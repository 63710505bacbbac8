import { headerNames, parseFeedCursor } from '@countersign/core/contract'
import { readDeclaredVerifier } from '../../declared-verifier.ts'
import { keyOf } from '../../key-of.ts'
import type { Route } from '../../route.ts'
import { requireOwnPath } from '../../site-in-path.ts'

/** Nobody on the way may keep it, change it or wait for more of it. */
const AS_IT_COMES = { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }
const PROXY_FIELDS = ['via', 'forwarded', 'x-forwarded-for']

export const feed: Route<'feed'> = async ({ caller, params, query, lines }, { feeds }) => {
  requireOwnPath(caller, params.site_id)
  const { verifierId, take, letGo } = await feeds.open({
    siteId: params.site_id,
    keyId: keyOf(caller),
    cursor: parseFeedCursor(lines(headerNames.lastEventId)?.[0] ?? query.after),
    verifier: readDeclaredVerifier(lines, query.observe),
    isProxied: PROXY_FIELDS.some((name) => lines(name) !== undefined),
  })
  return { status: 200, headers: { ...AS_IT_COMES, [headerNames.verifierId]: verifierId }, stream: { kind: 'connection', take, letGo } }
}
