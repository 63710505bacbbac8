import { DEFAULT_PERMISSION_ID } from '../credential/credential.ts'
import { type Denial, deny } from '../credential/denial.ts'
import type { CredentialId } from '../credential/ids.ts'
import { VALID_FROM_LEEWAY_MS } from '../credential/limits.ts'
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
import { crypto } from '../proof/crypto.ts'
import { checkAge } from './checks.ts'
import { CheckOrderError } from './context.ts'
import { type AllowJwt, toViewStamp } from './decision.ts'
import type { Demand } from './demand.ts'
import { checkExpiry, checkGrounds, checkNotRevoked, checkRetirement, type Grounds } from './grounds.ts'
import type { VerifiedJwt } from './jwt-cache.ts'
import { checkScopeGranted } from './scope.ts'
import type { OAuthIssuer, RevocationData, TrustedJwtKey } from './trust.ts'

/** An access token of an OAuth issuer, as the caller sent it. */
export interface PresentedJwt {
  readonly jwt: string
  /** The scheme of the `Authorization` header. A token that is bound to a key needs `DPoP`. */
  readonly scheme: 'Bearer' | 'DPoP'
}

/** The state of one verification of an access token. Each check sets values for later ones. */
export class JwtContext {
  readonly presented: PresentedJwt
  readonly demand: Demand
  readonly data: RevocationData
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

  get read(): UnverifiedJwt {
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

type JwtCheck = (context: JwtContext) => Denial | undefined | Promise<Denial | undefined>

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

/** One answer for everything that is wrong with a token: the caller learns only that it is invalid. */
const invalidToken = deny(
  'token_invalid',
  'This access token is not valid here. Get a new one from its issuer.',
)

const proofRequired = deny(
  'proof_required',
  'This site or this token requires a DPoP proof with every request. Send the token with the DPoP scheme and a proof.',
)

export async function decideJwt(
  presented: PresentedJwt,
  demand: Demand,
  data: RevocationData,
): Promise<AllowJwt | Denial> {
  const context = new JwtContext(presented, demand, data)
  for (const [, check] of jwtChecks) {
    const denial = await check(context)
    if (denial !== undefined) return denial
  }
  // Entries may have been applied in the meantime, so check again what they can change.
  return recheckJwt(context.verified, demand, data) ?? toAllow(context)
}

/**
 * Why an accepted token would be rejected now, except for a new DPoP proof. Everything that a log
 * entry or the clock can change is checked again. Never waits.
 */
export function recheckJwt(
  { read, facts, grounds, policy }: VerifiedJwt,
  demand: Pick<Demand, 'scope' | 'anyScope' | 'nowMs'>,
  data: RevocationData,
): Denial | undefined {
  const stale = checkAge(data)
  if (stale !== undefined) return stale
  const issuer = data.site.oauthIssuer(facts.issuer)
  if (issuer === undefined) return invalidToken
  const now = issuer.policy === policy ? facts : readJwtFacts(read, issuer.policy)
  if (isJwtFault(now)) return invalidToken
  return toTokenDenial(checkGrounds(grounds, data.site, demand.nowMs)) ?? checkScopeGranted(now.scope, demand)
}

/** Finds the token in the cache, or reads it. */
async function checkReading(context: JwtContext): Promise<Denial | undefined> {
  const { presented, data } = context
  if (presented.jwt.length > JWT_CHARS_MAX) return invalidToken
  context.digest = await crypto.sha256Latin1(presented.jwt)
  context.cached = data.jwts?.find(context.digest)
  const read = context.cached?.read ?? readJwt(presented.jwt)
  if (read === undefined) return invalidToken
  context.read = read
  return undefined
}

function checkIssuer(context: JwtContext): Denial | undefined {
  const { iss } = context.read.claims
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
  const { alg, kid } = context.read.header
  if (kid !== undefined && typeof kid !== 'string') return invalidToken
  const fitting = [...context.issuer.keys.values()].filter(
    (each) => (kid === undefined || each.kid === kid) && fitsAlgorithm(each.key, alg),
  )
  const [key, ...others] = fitting
  if (key === undefined || others.length > 0 || key.status === 'compromised') return invalidToken
  context.key = key
  return undefined
}

async function checkSignature(context: JwtContext): Promise<Denial | undefined> {
  const { cached, key } = context
  if (cached?.key === key.key) return undefined
  context.cached = undefined
  return (await verifyJwtSignature(context.read, key.key)) ? undefined : invalidToken
}

async function checkClaims(context: JwtContext): Promise<Denial | undefined> {
  const { cached, issuer, key, read, data, digest } = context
  if (cached?.policy === issuer.policy) {
    context.verified = cached
    return checkRetired(context)
  }
  const { subjectKey } = data.site
  const facts = readJwtFacts(read, issuer.policy)
  if (isJwtFault(facts) || subjectKey === undefined) return invalidToken
  const grounds = await toJwtGrounds(facts, read, issuer, key, subjectKey)
  context.verified = { policy: issuer.policy, key: key.key, read, facts, grounds }
  if (digest !== undefined) data.jwts?.set(digest, context.verified)
  return checkRetired(context)
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

/** The last check, because it is the only one with a side effect: it consumes the `jti` of a proof. */
async function checkHolder(context: JwtContext): Promise<Denial | undefined> {
  const { presented, demand, data, verified } = context
  const { holderThumbprint } = verified.facts
  if (holderThumbprint === undefined) {
    if (presented.scheme === 'DPoP') return invalidToken
    return data.site.settings.holderProof === 'required' ? proofRequired : undefined
  }
  const { request, nonces, nowMs } = demand
  if (presented.scheme !== 'DPoP' || request === undefined || nonces === undefined) return proofRequired
  const proof = await checkDpopProof(request, { token: presented.jwt, thumbprint: holderThumbprint, nowMs })
  if (!proof.ok) return proof
  return consumeProof(proof, holderThumbprint, nonces, nowMs)
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
