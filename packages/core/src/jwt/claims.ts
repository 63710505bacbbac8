import { parseScope, SCOPE_LIST_MAX, type Scope } from '../credential/ids.ts'
import type { JsonObject, JsonValue } from '../encoding/json.ts'
import { isJsonObject } from '../encoding/json.ts'
import type { UnverifiedJwt } from './read.ts'

/** What a site accepts from one OAuth issuer. */
export interface JwtPolicy {
  /** Compared with `iss` character by character. */
  readonly issuer: string
  /** One of these must be in `aud`. */
  readonly audience: readonly string[]
  readonly subjectClaim: string
  /** Undefined: tokens of this issuer name no session. */
  readonly sessionClaim: string | undefined
  readonly scopeClaim: string
  /** Scopes of the site by the scope that the issuer writes. Others are taken as they are. */
  readonly scopeMap: ReadonlyMap<string, readonly Scope[]>
  /** The scopes that the issuer may grant. Undefined: no cap. */
  readonly scope: ReadonlySet<Scope> | undefined
  readonly tokenTtlSecondsMax: number
  /** Whether `typ` must be `at+jwt` (RFC 9068). */
  readonly requireAtJwt: boolean
  /** Claims that must have exactly this value. */
  readonly requiredClaims: ReadonlyMap<string, string | number | boolean>
  /** Undefined: tokens of every client are accepted. */
  readonly clientIds: ReadonlySet<string> | undefined
}

/** The claims of a token that decisions use. */
export interface JwtFacts {
  readonly issuer: string
  readonly subject: string
  readonly clientId: string | undefined
  readonly jti: string | undefined
  readonly session: string | undefined
  readonly issuedAtMs: number
  readonly notBeforeMs: number
  readonly expiresAtMs: number
  readonly scope: readonly Scope[]
  /** The thumbprint of the key that a DPoP proof must be made with. */
  readonly holderThumbprint: string | undefined
}

/** The name of the check that a token fails, for `explain`. */
export interface JwtFault {
  readonly fault: 'type' | 'audience' | 'claims' | 'time'
  readonly detail: string
}

/** Of a subject, `jti`, session or client id. */
export const CLAIM_CHARS_MAX = 256
/** Claims that only ID tokens, logout tokens and security events have. */
const OTHER_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events']
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/

/**
 * The facts of a token, or why this site does not accept such tokens. Does not look at the clock,
 * the signature or the log, so the answer can be cached with the signature.
 */
export function readJwtFacts(
  jwt: Pick<UnverifiedJwt, 'header' | 'claims'>,
  policy: JwtPolicy,
): JwtFacts | JwtFault {
  const { header, claims } = jwt
  return (
    checkType(header, claims, policy) ??
    checkAudience(claims, policy) ??
    checkRequired(claims, policy) ??
    toFacts(claims, policy)
  )
}

export function isJwtFault(value: JwtFacts | JwtFault): value is JwtFault {
  return 'fault' in value
}

function checkType(header: JsonObject, claims: JsonObject, policy: JwtPolicy): JwtFault | undefined {
  const { typ } = header
  if (typ !== undefined && typeof typ !== 'string') return fault('type', 'typ must be a text')
  const type = typ?.toLowerCase().replace(/^application\//, '')
  if (policy.requireAtJwt) {
    if (type !== 'at+jwt') return fault('type', 'typ must be at+jwt')
  } else if (type !== undefined && type !== 'jwt' && type !== 'at+jwt') {
    return fault('type', 'typ must be absent, JWT or at+jwt')
  }
  if (type !== 'at+jwt' && policy.requiredClaims.size === 0 && namesItsClient(claims))
    return fault('type', 'aud names the client, as in an ID token')
  const foreign = OTHER_TOKEN_CLAIMS.find((name) => Object.hasOwn(claims, name))
  return foreign === undefined ? undefined : fault('type', `an access token has no claim ${foreign}`)
}

/**
 * `aud` of an ID token has its client (OIDC Core §2), which `client_ids` may list. So where neither
 * the type nor a claim is required, a token for its own client is rejected.
 */
function namesItsClient({ aud, azp, client_id }: JsonObject): boolean {
  const named: readonly (JsonValue | undefined)[] = Array.isArray(aud) ? aud : [aud]
  return [azp, client_id].some((client) => client !== undefined && named.includes(client))
}

function checkAudience({ aud }: JsonObject, { audience }: JwtPolicy): JwtFault | undefined {
  const named = typeof aud === 'string' ? [aud] : aud
  if (!Array.isArray(named) || !named.every((name) => typeof name === 'string'))
    return fault('audience', 'aud must be a text or a list of texts')
  return named.some((name) => audience.includes(name as string))
    ? undefined
    : fault('audience', 'aud does not name this site')
}

function checkRequired(claims: JsonObject, policy: JwtPolicy): JwtFault | undefined {
  for (const [name, value] of policy.requiredClaims) {
    const given = findOwn(claims, name)
    if (given !== value && !(Array.isArray(given) && given.includes(value)))
      return fault('claims', `the claim ${name} does not have the required value`)
  }
  if (policy.clientIds === undefined) return undefined
  const clientId = findClientId(claims)
  return clientId !== undefined && policy.clientIds.has(clientId)
    ? undefined
    : fault('claims', 'client_id is not one of those that the site accepts')
}

function toFacts(claims: JsonObject, policy: JwtPolicy): JwtFacts | JwtFault {
  const subject = findName(claims, policy.subjectClaim)
  if (subject === undefined) return fault('claims', `the claim ${policy.subjectClaim} is missing`)
  const { iat, exp, nbf, jti, cnf } = claims
  if (!isSeconds(iat) || !isSeconds(exp) || !(nbf === undefined || isSeconds(nbf)))
    return fault('time', 'iat, exp and nbf must be times in whole seconds')
  if (!(exp > iat) || exp - iat > policy.tokenTtlSecondsMax)
    return fault('time', `the token lives longer than ${policy.tokenTtlSecondsMax} seconds`)
  if (jti !== undefined && !isName(jti)) return fault('claims', 'jti must have 1 to 256 characters')
  const session = policy.sessionClaim === undefined ? undefined : findOwn(claims, policy.sessionClaim)
  if (session !== undefined && !isName(session))
    return fault('claims', `${policy.sessionClaim} must have 1 to 256 characters`)
  const holderThumbprint = cnf === undefined ? undefined : findThumbprint(cnf)
  if (cnf !== undefined && holderThumbprint === undefined)
    return fault('claims', 'cnf must have the member jkt and no other')
  const scope = readScope(findOwn(claims, policy.scopeClaim), policy)
  if (scope === undefined) return fault('claims', `${policy.scopeClaim} must be a text or a list of texts`)
  return {
    issuer: policy.issuer,
    subject,
    clientId: findClientId(claims),
    jti,
    session,
    issuedAtMs: iat * 1000,
    notBeforeMs: (nbf ?? iat) * 1000,
    expiresAtMs: exp * 1000,
    scope,
    holderThumbprint,
  }
}

/** Scopes that the site does not know or that the issuer may not grant are left out. */
function readScope(claim: JsonValue | undefined, policy: JwtPolicy): readonly Scope[] | undefined {
  const written = typeof claim === 'string' ? claim.split(' ') : (claim ?? [])
  if (!Array.isArray(written)) return undefined
  const scope = new Set<Scope>()
  for (const name of written) {
    if (typeof name !== 'string') return undefined
    const own = parseScope(name)
    for (const each of policy.scopeMap.get(name) ?? (own === undefined ? [] : [own]))
      if (policy.scope === undefined || policy.scope.has(each)) scope.add(each)
  }
  return [...scope].slice(0, SCOPE_LIST_MAX)
}

function findClientId(claims: JsonObject): string | undefined {
  return findName(claims, 'client_id') ?? findName(claims, 'azp')
}

function findName(claims: JsonObject, name: string): string | undefined {
  const value = findOwn(claims, name)
  return isName(value) ? value : undefined
}

/** Never a member that every object inherits. */
function findOwn(claims: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

function findThumbprint(cnf: JsonValue): string | undefined {
  if (!isJsonObject(cnf) || Object.keys(cnf).length !== 1) return undefined
  const { jkt } = cnf
  return typeof jkt === 'string' && THUMBPRINT.test(jkt) ? jkt : undefined
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= CLAIM_CHARS_MAX
}

function isSeconds(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 1e11
}

function fault(name: JwtFault['fault'], detail: string): JwtFault {
  return { fault: name, detail }
}
