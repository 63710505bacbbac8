import type { Denial } from '../credential/denial.ts'
import { CheckOrderError, VerificationContext } from './context.ts'
import type { Demand, VerifierInput } from './demand.ts'
import type { RevocationData } from './revocation-data.ts'
import { credentialChecks } from './verify.ts'

export interface ExplainedCheck {
  readonly check: (typeof credentialChecks)[number][0]
  /** `skipped`: it needs a value that an earlier check could not determine. */
  readonly result: 'passed' | 'denied' | 'skipped'
  readonly denial?: Denial
  /** False if the check read claims that no valid signature covers. */
  readonly trustworthy: boolean
}

export interface Explanation {
  readonly allowed: boolean
  readonly checks: readonly ExplainedCheck[]
}

/**
 * Runs all checks of `verify` and reports the result of each, without stopping at the first denial
 * and without consuming a nonce. For the tools of the holder and for support only: the results
 * would reveal claims to an anonymous caller before the signature is verified.
 */
export async function explain(
  presented: Exclude<VerifierInput, { token: unknown }>,
  demand: Demand,
  data: RevocationData,
): Promise<Explanation> {
  // It continues where `verify` would stop, so it must consume no nonce and cache no signature.
  const { signatures: _, ...unchanged } = data
  const context = new VerificationContext(
    presented,
    demand.nonces === undefined ? demand : { ...demand, nonces: { consume: () => 'fresh' } },
    unchanged,
  )
  const checks: ExplainedCheck[] = []
  let trustworthy = true
  for (const [check, run] of credentialChecks) {
    const outcome = await runCheck(() => run(context))
    // If one link is invalid, the claims of the leaf are unsigned, even if the root is valid.
    if (outcome.result !== 'passed' && UP_TO_SIGNATURES.has(check)) trustworthy = false
    checks.push({ check, ...outcome, trustworthy })
  }
  return { allowed: checks.every(({ result }) => result === 'passed'), checks }
}

const UP_TO_SIGNATURES: ReadonlySet<string> = new Set(['reading', 'issuer', 'key', 'signature', 'delegation'])

async function runCheck(
  run: () => Denial | undefined | Promise<Denial | undefined>,
): Promise<Pick<ExplainedCheck, 'result' | 'denial'>> {
  try {
    const denial = await run()
    return denial === undefined ? { result: 'passed' } : { result: 'denied', denial }
  } catch (error) {
    if (error instanceof CheckOrderError) return { result: 'skipped' }
    throw error
  }
}
