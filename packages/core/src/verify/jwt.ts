import { DEFAULT_PERMISSION_ID } from '../credential/credential.ts'
import { type Denial, deny } from '../credential/denial.ts'
import type { CredentialId } from '../credential/ids.ts'
import { VALID_FROM_LEEWAY_MS } from '../credential/limits.ts'
import type { PresentedJwt } from '../credential/presentation.ts'
import { isPromise } from '../is-promise.ts'
import { isJwtFault, type JwtFacts, readJwtFacts } from '../jwt/claims.ts'
import {
  deriveSessionId,
  deriveSubjectPpid,
  deriveTextTokenId,
  deriveTokenId,
  deriveUserRefPpid,
  type SubjectKey,
} from '../jwt/derived-ids.ts'
import { checkDpopProof, consumeProof } from '../jwt/dpop.ts'
import { JWT_CHARS_MAX, readJwt, type UnverifiedJwt } from '../jwt/read.ts'
import { fitsAlgorithm, verifyJwtSignature } from '../jwt/signature.ts'
import { checkAge } from './checks.ts'
import { CheckOrderError } from './context.ts'
import { type AllowJwt, toViewStamp, type Verdict } from './decision.ts'
import type { Demand } from './demand.ts'
import { checkExpiry, checkGrounds, checkNotRevoked, checkRetirement, type Grounds } from './grounds.ts'
import { toVerifiedJwt, type VerifiedJwt } from './jwt-cache.ts'
import type { RevocationData } from './revocation-data.ts'
import { type Check, runChecks } from './run-checks.ts'
import { checkScopeGranted } from './scope.ts'
import type { OAuthIssuer, TrustedJwtKey } from './trust.ts'

/** The state of one verification of an access token. Each check sets values for later ones. */
export class JwtContext {
  readonly presented: PresentedJwt
  readonly demand: Demand
  readonly data: RevocationData
  /** The cache key of this token. Undefined without a cache. */
  digest: string | undefined
  cached: VerifiedJwt | undefined
  #read: UnverifiedJwt | undefined
  #issuer: OAuthIssuer | undefined
  #key: TrustedJwtKey | undefined
  #verified: VerifiedJwt | undefined

  constructor(presented: PresentedJwt, demand: Demand, data: RevocationData) {
    this.presented = presented
    this.demand = demand
    this.data = data
  }

  /** A token that was found in the cache is read only if it is needed. */
  get read(): UnverifiedJwt {
    this.#read ??= readJwt(this.presented.jwt)
    return this.#read ?? throwMissing('token')
  }
  set read(read: UnverifiedJwt) {
    this.#read = read
  }

  get issuer(): OAuthIssuer {
    return this.#issuer ?? throwMissing('issuer')
  }
  set issuer(issuer: OAuthIssuer) {
    this.#issuer = issuer
  }

  get key(): TrustedJwtKey {
    return this.#key ?? throwMissing('key')
  }
  set key(key: TrustedJwtKey) {
    this.#key = key
  }

  get verified(): VerifiedJwt {
    return this.#verified ?? throwMissing('claims')
  }
  set verified(verified: VerifiedJwt) {
    this.#verified = verified
  }
}

type JwtCheck = Check<JwtContext>

/** All checks of an access token, in this order. `explain` runs the same list. */
export const jwtChecks = [
  ['freshness', ({ data }) => checkAge(data)],
  ['reading', checkReading],
  ['issuer', checkIssuer],
  ['key', checkKey],
  ['signature', checkSignature],
  ['claims', checkClaims],
  ['time', checkTime],
  ['revocation', ({ verified, data }) => toTokenDenial(checkNotRevoked(verified.grounds, data.site))],
  ['scope', ({ verified, demand }) => checkScopeGranted(verified.facts.scope, demand)],
  ['holder', checkHolder],
] as const satisfies readonly (readonly [string, JwtCheck])[]

const runs: readonly JwtCheck[] = jwtChecks.map(([, run]) => run)

/** One answer for all faults of a token: the caller learns only that it is invalid. */
const invalidToken = deny(
  'token_invalid',
  'This access token is not valid here. Get a new one from its issuer.',
)

const proofRequired = deny(
  'proof_required',
  'This site or this token requires a DPoP proof with every request. Send the token with the DPoP scheme and a proof.',
)

/** Synchronous unless a digest, a signature, a derived id or a nonce is asynchronous. */
export function decideJwt(
  presented: PresentedJwt,
  demand: Demand,
  data: RevocationData,
): Verdict | Promise<Verdict> {
  const context = new JwtContext(presented, demand, data)
  const denial = runChecks(runs, context)
  if (isPromise(denial))
    // Entries may have been applied in the meantime, so check again what they can change.
    return denial.then((later) => toVerdict(context, later ?? recheckJwt(context.verified, demand, data)))
  return toVerdict(context, denial)
}

function toVerdict(context: JwtContext, denial: Denial | undefined): Verdict {
  return denial === undefined ? toAllow(context) : { ...denial, view: toViewStamp(context.data) }
}

/**
 * Why an accepted token would be rejected now, except for a new DPoP proof. Everything that a log
 * entry or the clock can change is checked again. Never waits.
 */
export function recheckJwt(
  { read, facts, grounds, issuer: before }: VerifiedJwt,
  demand: Pick<Demand, 'scope' | 'anyScope' | 'nowMs'>,
  data: RevocationData,
): Denial | undefined {
  const stale = checkAge(data)
  if (stale !== undefined) return stale
  const issuer = data.site.oauthIssuer(facts.issuer)
  if (issuer === undefined) return invalidToken
  const now = issuer.policy === before.policy ? facts : readJwtFacts(read, issuer.policy)
  if (isJwtFault(now)) return invalidToken
  // The grounds have the ids of before; a revocation would name others now.
  const hasSameIds =
    now.subject === facts.subject &&
    now.session === facts.session &&
    issuer.userRefFromSubject === before.userRefFromSubject
  if (!hasSameIds) return invalidToken
  const denial =
    toTokenDenial(checkGrounds(grounds, data.site, demand.nowMs)) ?? checkScopeGranted(now.scope, demand)
  return denial ?? (now.holderThumbprint === undefined ? checkProofOptional(data) : undefined)
}

/** A token that is not bound to a key is accepted only where the site requires no proofs. */
function checkProofOptional({ site }: RevocationData): Denial | undefined {
  return site.settings.holderProof === 'required' ? proofRequired : undefined
}

/** Finds the token in the cache, or reads it. Only verified tokens are memoized. */
function checkReading(context: JwtContext): Denial | undefined | Promise<Denial | undefined> {
  const { jwt } = context.presented
  const { signatures } = context.data
  if (jwt.length > JWT_CHARS_MAX) return invalidToken
  if (signatures === undefined) return checkUncached(context)
  const known = signatures.findDigest(jwt)
  if (known !== undefined) return checkCached(context, known)
  const later = (digest: string) => {
    const denial = checkCached(context, digest)
    if (context.cached !== undefined) signatures.memoize(jwt, digest)
    return denial
  }
  const digest = signatures.digest(jwt)
  return typeof digest === 'string' ? later(digest) : digest.then(later)
}

function checkCached(context: JwtContext, digest: string): Denial | undefined {
  context.digest = digest
  context.cached = context.data.signatures?.jwts.find(digest)
  return context.cached === undefined ? checkUncached(context) : undefined
}

function checkUncached(context: JwtContext): Denial | undefined {
  const read = readJwt(context.presented.jwt)
  if (read === undefined) return invalidToken
  context.read = read
  return undefined
}

function checkIssuer(context: JwtContext): Denial | undefined {
  const iss = context.cached?.facts.issuer ?? context.read.claims.iss
  const issuer = typeof iss === 'string' ? context.data.site.oauthIssuer(iss) : undefined
  if (issuer === undefined) return invalidToken
  context.issuer = issuer
  return undefined
}

/**
 * The key comes from the keys of the issuer. A token without `kid` is accepted only if exactly one
 * of them fits its algorithm.
 */
function checkKey(context: JwtContext): Denial | undefined {
  const { cached, issuer } = context
  const key = cached?.issuer === issuer ? cached.key : selectKey(context.read, issuer)
  if (key === undefined || key.status === 'compromised') return invalidToken
  context.key = key
  return undefined
}

function selectKey(
  { header: { alg, kid } }: UnverifiedJwt,
  { keys }: OAuthIssuer,
): TrustedJwtKey | undefined {
  if (kid !== undefined && typeof kid !== 'string') return undefined
  const [key, ...others] = [...keys.values()].filter(
    (each) => (kid === undefined || each.kid === kid) && fitsAlgorithm(each.key, alg),
  )
  return others.length === 0 ? key : undefined
}

/**
 * The trusted issuer of a token that names a key which the site does not know. Such a key may be
 * new, so its issuer's keys should be fetched again. The token is not verified.
 */
export function findIssuerOfUnknownKey(
  jwt: string,
  site: Pick<RevocationData['site'], 'oauthIssuer'>,
): string | undefined {
  const read = readJwt(jwt)
  const { iss } = read?.claims ?? {}
  const { kid } = read?.header ?? {}
  const issuer = typeof iss === 'string' ? site.oauthIssuer(iss) : undefined
  if (issuer === undefined || typeof kid !== 'string') return undefined
  return [...issuer.keys.values()].some((key) => key.kid === kid) ? undefined : issuer.issuer
}

function checkSignature(context: JwtContext): Denial | undefined | Promise<Denial | undefined> {
  const { cached, key } = context
  if (cached?.key.key === key.key) return undefined
  context.cached = undefined
  const isValid = verifyJwtSignature(context.read, key.key)
  return typeof isValid === 'boolean' ? toSignatureDenial(isValid) : isValid.then(toSignatureDenial)
}

function toSignatureDenial(isValid: boolean): Denial | undefined {
  return isValid ? undefined : invalidToken
}

function checkClaims(context: JwtContext): Denial | undefined | Promise<Denial | undefined> {
  const { cached, issuer, key } = context
  if (cached?.issuer === issuer) {
    context.verified = cached
    return checkRetired(context)
  }
  if (cached?.issuer.policy !== issuer.policy) return readClaims(context)
  // Only the keys of the issuer have changed since the token was cached.
  keep(context, { ...cached, issuer, key })
  return checkRetired(context)
}

async function readClaims(context: JwtContext): Promise<Denial | undefined> {
  const { issuer, key, read, data } = context
  const { subjectKey } = data.site
  const facts = readJwtFacts(read, issuer.policy)
  if (isJwtFault(facts) || subjectKey === undefined) return invalidToken
  const grounds = await toJwtGrounds(facts, read, issuer, key, subjectKey)
  keep(context, toVerifiedJwt(context.presented.jwt, { issuer, key, read, facts, grounds }))
  return checkRetired(context)
}

function keep(context: JwtContext, verified: VerifiedJwt): void {
  const { data, digest } = context
  context.verified = verified
  if (digest !== undefined) data.signatures?.jwts.set(digest, verified)
}

function checkRetired({ verified, key }: JwtContext): Denial | undefined {
  return toTokenDenial(checkRetirement(verified.grounds, key))
}

function checkTime({ verified: { facts, grounds }, demand: { nowMs } }: JwtContext): Denial | undefined {
  const latestStartMs = Math.max(facts.issuedAtMs, facts.notBeforeMs)
  // Asked positively: a clock that answers NaN accepts nothing.
  if (!(latestStartMs <= nowMs + VALID_FROM_LEEWAY_MS)) return invalidToken
  return toTokenDenial(checkExpiry(grounds, nowMs))
}

/** The last check, because only it has a side effect: it consumes the `jti` of a proof. */
function checkHolder(context: JwtContext): Denial | undefined | Promise<Denial | undefined> {
  const { presented, data, verified } = context
  const { holderThumbprint } = verified.facts
  if (holderThumbprint !== undefined) return checkPossession(context, holderThumbprint)
  if (presented.scheme === 'DPoP') return invalidToken
  return checkProofOptional(data)
}

async function checkPossession(
  { presented, demand: { request, nonces, nowMs } }: JwtContext,
  thumbprint: string,
): Promise<Denial | undefined> {
  if (presented.scheme !== 'DPoP' || request === undefined || nonces === undefined) return proofRequired
  const proof = await checkDpopProof(request, { token: presented.jwt, thumbprint, nowMs })
  if (!proof.ok) return proof
  return consumeProof(proof, thumbprint, nonces, nowMs)
}

async function toJwtGrounds(
  facts: JwtFacts,
  read: UnverifiedJwt,
  { userRefFromSubject }: OAuthIssuer,
  { id }: TrustedJwtKey,
  subjectKey: SubjectKey,
): Promise<Grounds> {
  const { issuer, subject, jti, session, issuedAtMs, expiresAtMs, holderThumbprint } = facts
  const tokenId =
    jti === undefined
      ? await deriveTextTokenId(subjectKey, issuer, read.signingInput)
      : await deriveTokenId(subjectKey, issuer, jti)
  const credentialIds: CredentialId[] = [tokenId]
  if (session !== undefined) credentialIds.push(await deriveSessionId(subjectKey, issuer, session))
  return {
    issuer,
    issuerKey: `${issuer}#${id}`,
    signedAtMs: issuedAtMs,
    ppid: userRefFromSubject
      ? await deriveUserRefPpid(subjectKey, subject)
      : await deriveSubjectPpid(subjectKey, issuer, subject),
    credentialIds,
    holders: holderThumbprint === undefined ? [] : [holderThumbprint],
    isDelegated: false,
    oldestSignedAtMs: issuedAtMs,
    expiresAtMs,
  }
}

function toAllow({ verified, data }: JwtContext): AllowJwt {
  const { facts, grounds } = verified
  const [credentialId] = grounds.credentialIds
  if (credentialId === undefined) throw new TypeError('a token always has an id')
  return {
    ok: true,
    presented: 'jwt',
    subject: {
      ppid: grounds.ppid,
      siteId: data.site.siteId,
      scope: facts.scope,
      credentialId,
      permissionId: DEFAULT_PERMISSION_ID,
      expiresAtMs: facts.expiresAtMs,
    },
    view: toViewStamp(data),
    jwt: verified,
  }
}

/** Revocation, expiry and retirement have one code for tokens. */
function toTokenDenial(denial: Denial | undefined): Denial | undefined {
  return denial && invalidToken
}

function throwMissing(what: string): never {
  throw new CheckOrderError(`no earlier check has set the ${what}`)
}
