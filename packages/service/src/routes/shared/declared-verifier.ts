import { headerNames } from '@countersign/core/contract'
import type { DeclaredVerifier } from '../../feed/feed-server.ts'
import { Problem } from '../../problem.ts'
import type { RouteRequest } from '../../route.ts'

/**
 * How a verifier describes itself in its headers. Throws `validation_failed` when the instance or
 * its maximum staleness is missing: receipts would be wrong with half of a declaration.
 */
export function requireDeclaredVerifier(
  lines: RouteRequest['lines'],
  observe: '1' | undefined,
): DeclaredVerifier {
  const verifierId = lines(headerNames.verifierId)?.[0]
  const instanceId = lines(headerNames.verifierInstance)?.[0]
  const seconds = lines(headerNames.verifierStaleness)?.[0]
  const version = lines(headerNames.verifierVersion)?.[0]
  const failOpen = lines(headerNames.verifierFailOpen)?.[0]
  const isObserver = observe !== undefined
  if (instanceId === undefined || seconds === undefined) {
    if (instanceId !== undefined || seconds !== undefined || failOpen !== undefined)
      throw invalid(
        'The declaration of the verifier is incomplete. Send X-Verifier-Instance and X-Verifier-Max-Staleness together; X-Verifier-Fail-Open needs both.',
      )
    return { verifierId, promise: undefined, isObserver }
  }
  if (isObserver) throw invalid('An observer has no instance. Send either observe=1 or X-Verifier-Instance.')
  return {
    verifierId,
    promise: { instanceId, boundMs: Number(seconds) * 1000, failsOpen: failOpen !== undefined, version },
    isObserver,
  }
}

function invalid(detail: string): Problem {
  return new Problem('validation_failed', detail)
}
