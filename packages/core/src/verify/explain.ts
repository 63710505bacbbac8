import type { Denial } from '../credential/denial.ts'
import { Case, NotEstablished } from './case.ts'
import type { Demand, Presented } from './demand.ts'
import type { RevocationData } from './trust.ts'
import { credentialChecks } from './verify.ts'

export interface ExplainedCheck {
  readonly check: (typeof credentialChecks)[number][0]
  /** `unreached`: it needs something that an earlier check could not establish. */
  readonly result: 'passed' | 'refused' | 'unreached'
  readonly denial?: Denial
  /** False for what was looked at although no signature vouches for it. */
  readonly trustworthy: boolean
}

export interface Explanation {
  readonly allowed: boolean
  readonly checks: readonly ExplainedCheck[]
}

/**
 * Walks the same list as `verify` to its end and says how each check came out, without stopping at
 * the first refusal and without using up a nonce. For the holder's own tools and for support: to an
 * anonymous caller it would tell what the order of the checks keeps quiet.
 */
export async function explain(
  presented: Exclude<Presented, { token: unknown }>,
  demand: Demand,
  knowledge: RevocationData,
): Promise<Explanation> {
  // It goes on where `verify` would stop, so it must leave nothing behind: no used nonce, no
  // remembered signature.
  const { signatures: _, ...unchanged } = knowledge
  const c = new Case(
    presented,
    demand.nonces === undefined ? demand : { ...demand, nonces: { consume: () => 'fresh' } },
    unchanged,
  )
  const checks: ExplainedCheck[] = []
  let trustworthy = true
  for (const [check, run] of credentialChecks) {
    const outcome = await outcomeOf(() => run(c))
    // A broken link of a chain leaves the leaf's claims unsigned, whatever the root's signature
    // says.
    if (outcome.result !== 'passed' && UP_TO_SIGNATURES.has(check)) trustworthy = false
    checks.push({ check, ...outcome, trustworthy })
  }
  return { allowed: checks.every(({ result }) => result === 'passed'), checks }
}

const UP_TO_SIGNATURES: ReadonlySet<string> = new Set(['reading', 'issuer', 'key', 'signature', 'delegation'])

async function outcomeOf(
  run: () => Denial | undefined | Promise<Denial | undefined>,
): Promise<Pick<ExplainedCheck, 'result' | 'denial'>> {
  try {
    const denial = await run()
    return denial === undefined ? { result: 'passed' } : { result: 'refused', denial }
  } catch (error) {
    if (error instanceof NotEstablished) return { result: 'unreached' }
    throw error
  }
}
