import { type Denial, isDenial } from '../credential/denial.ts'
import { Case } from './case.ts'
import { recheck, staleness } from './checks.ts'
import type { Allow } from './decision.ts'
import type { Demand } from './demand.ts'
import { tokenScope } from './token-checks.ts'
import type { RevocationData } from './trust.ts'

/**
 * Why a caller that `verify` has accepted would be rejected now; undefined while nothing has
 * changed. For requests and streams that go on: it waits for nothing and asks for no new proof of
 * possession.
 */
export function recheckAccess(
  allowed: Allow,
  demand: Pick<Demand, 'scope' | 'anyScope' | 'nowMs'>,
  knowledge: RevocationData,
): Denial | undefined {
  if (allowed.presented === 'bearer') {
    const scope = staleness(knowledge) ?? tokenScope(allowed.token, demand, knowledge.site)
    return isDenial(scope) ? scope : undefined
  }
  const c = new Case({ header: '' }, demand, knowledge)
  c.credential = allowed.credential
  c.signedBy = allowed.signedBy
  return recheck(c)
}
