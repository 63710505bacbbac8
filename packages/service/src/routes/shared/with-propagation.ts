import type { SiteId } from '@countersign/core'
import { waitForVerifiers } from '../../actions/propagation.ts'
import type { RouteAnswer } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import type { RouteRequest } from '../../route.ts'
import type { EntryPosition } from '../../store/logged.ts'
import { toPropagationBody } from './propagation-body.ts'

/** What a route passes on of its request, for the wait that the caller prefers. */
export type WaitingRequest = Pick<
  RouteRequest,
  'preferWaitSeconds' | 'prefersDeniedEverywhere' | 'caller' | 'waitOutside'
>

/**
 * The answer to a change that has created this entry. If the caller prefers to wait (RFC 7240
 * §4.3), it is sent when every connected verifier that is not silent has acknowledged the entry,
 * when every verifier denies, or when the time is up, with a receipt. When too many requests wait
 * already, it is sent immediately, with a receipt and without `Preference-Applied`. A holder does
 * not see the names of the site's verifiers.
 */
export async function withPropagation(
  { preferWaitSeconds, prefersDeniedEverywhere, caller, waitOutside }: WaitingRequest,
  deps: Pick<Deps, 'verifiers' | 'log'>,
  siteId: SiteId | undefined,
  entry: EntryPosition | undefined,
  body: object,
): Promise<RouteAnswer> {
  if (preferWaitSeconds === undefined || entry === undefined || siteId === undefined)
    return { status: 200, body }
  const until = prefersDeniedEverywhere ? 'denied' : 'acknowledged'
  const load = (ms: number) => waitForVerifiers(deps, siteId, entry, { ms, until })
  const waiting = waitOutside(() => load(preferWaitSeconds * 1000))
  const receipt = await (waiting ?? load(0))
  if (receipt === undefined) return { status: 200, body }
  const propagation = toPropagationBody(
    caller.kind === 'anonymous' ? { ...receipt, pending: [], verifiers: [], exceptions: [] } : receipt,
    entry.atMs,
  )
  return {
    status: 200,
    body: { ...body, propagation },
    ...(waiting === undefined
      ? {}
      : {
          headers: {
            'Preference-Applied': `wait=${preferWaitSeconds}${prefersDeniedEverywhere ? ', denied-everywhere' : ''}`,
          },
        }),
  }
}
