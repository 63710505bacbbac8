import { type Denial, deny } from '../credential/denial.ts'
import { isJwtFault, readJwtFacts } from '../jwt/claims.ts'
import { CheckOrderError, VerificationContext } from './context.ts'
import type { Demand, VerifierInput } from './demand.ts'
import { JwtContext, jwtChecks } from './jwt.ts'
import type { RevocationData } from './revocation-data.ts'
import { credentialChecks } from './verify.ts'

export interface ExplainedCheck {
  readonly check: (typeof credentialChecks)[number][0] | (typeof jwtChecks)[number][0]
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
  const { site, ageMs, ageMsMax } = data
  const unchanged = { site, ageMs, ageMsMax }
  const proven: Demand =
    demand.nonces === undefined ? demand : { ...demand, nonces: { consume: () => 'fresh' } }
  if ('jwt' in presented) {
    const context = new JwtContext(presented, proven, unchanged)
    return runAll(jwtChecks, context, (check, denial) => describeJwtDenial(check, denial, context))
  }
  return runAll(credentialChecks, new VerificationContext(presented, proven, unchanged))
}

async function runAll<Name extends ExplainedCheck['check'], Context>(
  list: readonly (readonly [Name, (context: Context) => Denial | undefined | Promise<Denial | undefined>])[],
  context: Context,
  describe: (check: Name, denial: Denial) => Denial = (_, denial) => denial,
): Promise<Explanation> {
  const checks: ExplainedCheck[] = []
  let trustworthy = true
  for (const [check, run] of list) {
    const { result, denial } = await runCheck(() => run(context))
    // If one link is invalid, the claims of the leaf are unsigned, even if the root is valid.
    if (result !== 'passed' && UP_TO_SIGNATURES.has(check)) trustworthy = false
    checks.push({
      check,
      result,
      ...(denial === undefined ? {} : { denial: describe(check, denial) }),
      trustworthy,
    })
  }
  return { allowed: checks.every(({ result }) => result === 'passed'), checks }
}

/** A caller learns only that a token is invalid; here each check says what it has found. */
function describeJwtDenial(check: string, denial: Denial, context: JwtContext): Denial {
  if (denial.code !== 'token_invalid') return denial
  const why = check === 'claims' ? findClaimsFault(context) : JWT_FAULTS[check]
  return why === undefined ? denial : deny('token_invalid', why)
}

function findClaimsFault({ read, issuer }: JwtContext): string {
  const facts = readJwtFacts(read, issuer.policy)
  return isJwtFault(facts)
    ? `The site does not accept such tokens of this issuer: ${facts.detail}.`
    : 'The token was signed after its key was retired.'
}

const JWT_FAULTS: Readonly<Record<string, string>> = {
  reading: 'The text is not a signed JWT that is accepted: its encoding, its JSON or its header is wrong.',
  issuer: 'The site does not trust the issuer that the claim iss names.',
  key: 'The issuer has no key, or several, for the kid and the alg of the header, or the key is compromised.',
  signature: 'The signature is not that of the key of the issuer.',
  time: 'The token has expired, or is not valid yet.',
  revocation:
    'The token, its session, its user, its key, or everything that its issuer signed until then is revoked.',
  holder: 'The token is not bound to a key. Send it with the Bearer scheme.',
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
