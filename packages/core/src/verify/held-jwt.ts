import type { Denial } from '../credential/denial.ts'
import type { Demand } from './demand.ts'
import { JwtContext, jwtChecks, recheckJwt } from './jwt.ts'
import type { VerifiedJwt } from './jwt-cache.ts'
import type { RevocationData } from './revocation-data.ts'

type JwtCheckName = (typeof jwtChecks)[number][0]

/**
 * The token, if the site would accept it now from a caller that proves possession where that is
 * needed; otherwise why not. For introspection: the caller there is not the holder.
 */
export async function findActiveJwt(
  jwt: string,
  demand: Pick<Demand, 'scope' | 'nowMs'>,
  data: RevocationData,
): Promise<VerifiedJwt | Denial> {
  const verified = await runUpTo('scope', jwt, demand, data)
  if ('code' in verified) return verified
  // Entries may have been applied in the meantime.
  return recheckJwt(verified, demand, data) ?? verified
}

/**
 * The token, if an issuer that the site trusts has signed it for this site; otherwise why not.
 * Whether it has expired, begun or been revoked is not checked.
 */
export function findSignedJwt(
  jwt: string,
  nowMs: number,
  data: RevocationData,
): Promise<VerifiedJwt | Denial> {
  return runUpTo('claims', jwt, { scope: [], nowMs }, data)
}

async function runUpTo(
  last: JwtCheckName,
  jwt: string,
  demand: Demand,
  data: RevocationData,
): Promise<VerifiedJwt | Denial> {
  const context = new JwtContext({ jwt, scheme: 'Bearer' }, demand, data)
  for (const [name, check] of jwtChecks) {
    const denial = await check(context)
    if (denial !== undefined) return denial
    if (name === last) break
  }
  return context.verified
}
