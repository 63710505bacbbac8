import {
  type Allow,
  type Demand,
  type Denial,
  decide,
  findBearerMistake,
  guardProblems,
  type HolderRequest,
  type NonceStore,
  oauthChallenge,
  type Presentation,
  type RevocationData,
  recheckAccess,
  type Scope,
  type SiteId,
  SiteView,
  type TokenFacts,
  type VerifierInput,
} from '@countersign/core'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'

export type GuardDeps = Pick<Deps, 'views' | 'clock' | 'signatures' | 'nonces' | 'tokens' | 'meters'>

/** What a caller presents, and what it asks for. */
export interface AccessRequest {
  readonly presentation: Presentation | Exclude<VerifierInput, { readonly token: TokenFacts }>
  readonly siteId: SiteId
  readonly scope: readonly Scope[]
  /** The request as the client signed it. Without it every holder-bound credential is denied. */
  readonly request: HolderRequest | undefined
  /**
   * A check of what is allowed otherwise, for one that has to ask the store; undefined when there
   * is nothing to ask. Access is checked again after it.
   */
  readonly checkInStore?: (allow: Allow) => Promise<Denial | undefined> | undefined
}

/**
 * Checks a credential, a bearer token or an access token of an OAuth issuer; every endpoint that
 * takes one calls it. Throws a Problem with the code of the denial, and whatever the store throws
 * when it cannot be asked for a token or a nonce. The core checks revocations again after each
 * wait. Returns a promise, and rejects, only if it had to wait.
 */
export function guard(deps: GuardDeps, access: AccessRequest): Allow | Promise<Allow> {
  const { presentation } = access
  if (!('bearer' in presentation)) return check(deps, access, presentation)
  const { bearer } = presentation
  const found = deps.tokens.find(bearer)
  return found instanceof Promise
    ? found.then((token) => checkToken(deps, access, bearer, token))
    : checkToken(deps, access, bearer, found)
}

function checkToken(
  deps: GuardDeps,
  access: AccessRequest,
  bearer: string,
  token: TokenFacts | undefined,
): Allow | Promise<Allow> {
  if (token !== undefined) return check(deps, access, { token })
  return check(deps, access, { token: UNKNOWN_TOKEN }, findBearerMistake(bearer))
}

/** `mistake` says what was sent in place of a token, if that is recognised. */
function check(
  deps: GuardDeps,
  { siteId, scope, request, checkInStore }: AccessRequest,
  input: VerifierInput,
  mistake?: string,
): Allow | Promise<Allow> {
  const data = deps.views.revocationData(siteId, deps.signatures) ?? unknownSite(deps, siteId)
  const demand = toDemand({ scope, nowMs: deps.clock.nowMs(), nonces: deps.nonces }, request)
  // It may have been revoked (I-1) or have expired (I-12) during a wait.
  const recheck = (verdict: Allow | Denial) =>
    (verdict.ok ? recheckAccess(verdict, { scope, nowMs: deps.clock.nowMs() }, data) : undefined) ?? verdict
  const finish = (verdict: Allow | Denial) => {
    const checking = verdict.ok ? checkInStore?.(verdict) : undefined
    if (checking === undefined) return report(deps, siteId, input, verdict, mistake)
    return checking.then((denial) => report(deps, siteId, input, denial ?? recheck(verdict), mistake))
  }
  const verdict = decide(input, demand, data)
  return verdict instanceof Promise ? verdict.then((later) => finish(recheck(later))) : finish(verdict)
}

/** What the core is asked. Without a request every holder-bound credential is denied. */
export function toDemand(
  known: Pick<Demand, 'scope' | 'nowMs'> & { readonly nonces: NonceStore },
  request: HolderRequest | undefined,
): Demand {
  return request === undefined ? known : { ...known, request }
}

/** Counts the verdict, and throws it if it is a denial. */
function report(
  deps: GuardDeps,
  siteId: SiteId,
  input: VerifierInput,
  verdict: Allow | Denial,
  mistake: string | undefined,
): Allow {
  if (deps.views.view(siteId) !== undefined) {
    // Unknown sites must not become labels: a caller could make them up.
    deps.meters.verdict(
      siteId,
      'token' in input ? 'bearer' : 'jwt' in input ? 'jwt' : 'credential',
      verdict.ok ? 'allowed' : verdict.code,
    )
  }
  if (verdict.ok) return verdict
  const isMistake = mistake !== undefined && verdict.code === 'token_invalid'
  throw denialToProblem(isMistake ? { ...verdict, detail: mistake } : verdict, findChallenge(input, verdict))
}

/** The challenge of an access token; that of everything else follows from the code. */
function findChallenge(input: VerifierInput, { code }: Denial): string | undefined {
  return 'jwt' in input && guardProblems[code].status === 401 ? oauthChallenge(code, input.scheme) : undefined
}

/** The problem that reports a denial to the caller. */
export function denialToProblem({ code, detail, requiredScope }: Denial, challenge?: string): Problem {
  return new Problem(code, detail, {
    ...(challenge === undefined ? {} : { headers: { 'www-authenticate': challenge } }),
    ...(requiredScope === undefined ? {} : { requiredScope }),
    ...(code === 'revocation_view_stale' ? { retryAfterSeconds: 1 } : {}),
  })
}

/**
 * An unknown site is treated like one that trusts no issuer, so callers cannot distinguish the two.
 */
function unknownSite({ views }: Pick<GuardDeps, 'views'>, siteId: SiteId): RevocationData {
  const { ageMs, ageMsMax } = views.age()
  return { site: new SiteView({ siteId }), ageMs, ageMsMax }
}

/** Used for every unknown token: expired, of no site, so it is denied like a known one. */
const UNKNOWN_TOKEN: TokenFacts = {
  tokenSha256: '',
  siteId: '' as SiteId,
  ppid: '' as TokenFacts['ppid'],
  scope: [],
  permissionId: '' as TokenFacts['permissionId'],
  credentialIds: [],
  holders: [],
  isDelegated: false,
  issuer: '',
  issuerKey: '',
  signedAtMs: 0,
  oldestSignedAtMs: 0,
  issuedAtMs: 0,
  expiresAtMs: 0,
}
