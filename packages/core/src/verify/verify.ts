import { toPermissionId } from '../credential/credential.ts'
import { type Denial, isDenial } from '../credential/denial.ts'
import { isPromise } from '../is-promise.ts'
import * as check from './checks.ts'
import { VerificationContext } from './context.ts'
import { type Allow, toViewStamp, type Verdict } from './decision.ts'
import type { Demand, VerifierInput } from './demand.ts'
import { decideJwt } from './jwt.ts'
import type { RevocationData } from './revocation-data.ts'
import { type Check, runChecks } from './run-checks.ts'
import type { TokenFacts } from './token.ts'
import { findTokenScope } from './token-checks.ts'

/**
 * All checks of a credential, in this order, for the service and the SDK. A check before
 * `signature` must not reveal a claim; after it, the claims are known to come from the issuer.
 * `explain` runs the same list.
 */
export const credentialChecks = [
  ['freshness', check.checkFreshness],
  ['reading', check.checkReading],
  ['issuer', check.checkIssuer],
  ['key', check.checkKey],
  ['signature', check.checkSignature],
  ['delegation', check.checkDelegation],
  ['issuer_limits', check.checkIssuerLimits],
  ['time', check.checkTime],
  ['site', check.checkSite],
  ['revocation', check.checkRevocation],
  ['scope', check.checkScope],
  ['holder', check.checkHolder],
] as const satisfies readonly (readonly [string, Check<VerificationContext>])[]

/** The checks without names: destructuring the pairs costs an eighth of a cached verification. */
const runs: readonly Check<VerificationContext>[] = credentialChecks.map(([, run]) => run)

/**
 * Decides whether the presented credential or token satisfies the demand. Reads no clock, network
 * or disk; only the last step, which consumes the nonce of a holder proof, may wait for a store. A
 * denial is returned as a value; an exception means a bug.
 */
export async function verify(
  presented: VerifierInput,
  demand: Demand,
  data: RevocationData,
): Promise<Verdict> {
  return decide(presented, demand, data)
}

/** For a bearer token of this service: always synchronous. */
export function decide(
  presented: { readonly token: TokenFacts },
  demand: Demand,
  data: RevocationData,
): Verdict
/**
 * The same as `verify`, but synchronous unless a signature, a digest or a nonce is asynchronous.
 * Throws synchronously as well. Decision 6 has the reasons.
 */
export function decide(
  presented: VerifierInput,
  demand: Demand,
  data: RevocationData,
): Verdict | Promise<Verdict>
export function decide(
  presented: VerifierInput,
  demand: Demand,
  data: RevocationData,
): Verdict | Promise<Verdict> {
  if ('jwt' in presented) return decideJwt(presented, demand, data)
  if ('token' in presented) return decideToken(presented.token, demand, data)
  const context = new VerificationContext(presented, demand, data)
  const denial = runChecks(runs, context)
  // Entries may have been applied in the meantime, so check again what they can change.
  if (isPromise(denial)) return denial.then((later) => toVerdict(context, later ?? check.recheck(context)))
  return toVerdict(context, denial)
}

function toVerdict(context: VerificationContext, denial: Denial | undefined): Verdict {
  return denial === undefined ? allowed(context) : { ...denial, view: toViewStamp(context.data) }
}

function allowed({ credential, holders, scope, signedBy, holder, data }: VerificationContext): Verdict {
  return {
    ok: true,
    presented: 'credential',
    subject: {
      ppid: credential.ppid,
      siteId: data.site.siteId,
      scope,
      credentialId: credential.id,
      permissionId: toPermissionId(credential),
      expiresAtMs: credential.validUntilMs,
    },
    view: toViewStamp(data),
    credential,
    holders,
    signedBy,
    holder,
  }
}

function decideToken(token: TokenFacts, demand: Demand, data: RevocationData): Verdict {
  const view = toViewStamp(data)
  const scope = check.checkAge(data) ?? findTokenScope(token, demand, data.site)
  if (isDenial(scope)) return { ...scope, view }
  const [credentialId] = token.credentialIds
  if (credentialId === undefined) throw new TypeError('a token always comes from a credential')
  const { ppid, siteId, permissionId, expiresAtMs } = token
  const allow: Allow = {
    ok: true,
    presented: 'bearer',
    subject: { ppid, siteId, scope, credentialId, permissionId, expiresAtMs },
    view,
    token,
  }
  return allow
}
