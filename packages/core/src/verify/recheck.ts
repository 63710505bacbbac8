import { type Denial, isDenial } from '../credential/denial.ts'
import { checkAge, recheck } from './checks.ts'
import { VerificationContext } from './context.ts'
import type { Allow } from './decision.ts'
import type { Demand } from './demand.ts'
import { recheckJwt } from './jwt.ts'
import type { RevocationData } from './revocation-data.ts'
import { findTokenScope } from './token-checks.ts'

/**
 * Why a caller that `verify` has accepted would be rejected now; undefined while nothing has
 * changed. For requests and streams that go on: it waits for nothing and asks for no new proof of
 * possession.
 */
export function recheckAccess(
  allowed: Allow,
  demand: Pick<Demand, 'scope' | 'anyScope' | 'nowMs'>,
  data: RevocationData,
): Denial | undefined {
  if (allowed.presented === 'bearer') {
    const scope = checkAge(data) ?? findTokenScope(allowed.token, demand, data.site)
    return isDenial(scope) ? scope : undefined
  }
  if (allowed.presented === 'jwt') return recheckJwt(allowed.jwt, demand, data)
  const context = new VerificationContext({ header: '' }, demand, data)
  context.credential = allowed.credential
  context.holders = allowed.holders
  context.signedBy = allowed.signedBy
  return recheck(context)
}
