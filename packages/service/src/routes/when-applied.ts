import type { SiteId } from '@countersign/core'
import { waitForVerifiers } from '../actions/propagation.ts'
import type { RouteAnswer } from '../answer.ts'
import type { Deps } from '../deps.ts'
import type { RouteRequest } from '../route.ts'
import type { EntryPosition } from '../store/store.ts'
import { propagationBody } from './propagation-body.ts'

/**
 * The answer to a revocation that has made this entry. If the caller prefers to wait (RFC 7240
 * §4.3), it is given when every connected verifier that is not silent has acknowledged the entry,
 * or when it is denied everywhere, or when the time is up, and says how far it got. A holder is not
 * told the names of a site's verifiers.
 */
export async function whenApplied(
  {
    preferWaitSeconds,
    prefersDeniedEverywhere,
    caller,
  }: Pick<RouteRequest, 'preferWaitSeconds' | 'prefersDeniedEverywhere' | 'caller'>,
  deps: Pick<Deps, 'verifiers' | 'log'>,
  siteId: SiteId | undefined,
  entry: EntryPosition | undefined,
  body: object,
): Promise<RouteAnswer> {
  if (preferWaitSeconds === undefined || entry === undefined || siteId === undefined)
    return { status: 200, body }
  const until = prefersDeniedEverywhere ? 'denied' : 'acknowledged'
  const receipt = await waitForVerifiers(deps, siteId, entry, { ms: preferWaitSeconds * 1000, until })
  if (receipt === undefined) return { status: 200, body }
  const propagation = propagationBody(
    caller.kind === 'anonymous' ? { ...receipt, laggards: [], verifiers: [], exceptions: [] } : receipt,
  )
  return {
    status: 200,
    body: { ...body, propagation },
    headers: {
      'Preference-Applied': `wait=${preferWaitSeconds}${prefersDeniedEverywhere ? ', denied-everywhere' : ''}`,
    },
  }
}
