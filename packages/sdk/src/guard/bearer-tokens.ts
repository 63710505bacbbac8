import {
  checkIntrospection,
  encodeBase64url,
  type IntrospectionProof,
  isJsonObject,
  isThumbprint,
  type JsonObject,
  type JsonValue,
  type PublicKey,
  parseCredentialId,
  parseIntrospectionProof,
  parsePermissionId,
  parsePpid,
  parseScopeList,
  parseTime,
  type SiteId,
  sha256Hex,
  type TokenFacts,
} from '@countersign/core'
import type { GuardClock } from '../feed/clock.ts'
import type { FeedKeys } from '../feed/feed-keys.ts'
import type { ViewProblem } from '../feed/log-follower.ts'
import { ServiceError } from '../feed/verifier-api.ts'

/**
 * Looks up bearer tokens. Accepts only responses of the service that a feed key has signed, over a
 * nonce of this guard. The facts of a token never change; the view decides at every use whether it
 * is still valid.
 */
export interface BearerTokens {
  /**
   * Undefined for a token that is not of this site, or that is unknown while `mayAsk` is false.
   * Rejects with a `ServiceError` when introspection fails or its response is not signed.
   */
  find(token: string, nowMs: number, mayAsk: boolean): Promise<TokenFacts | undefined>
  /**
   * Forgets everything, including pending introspections, because the log has changed its epoch.
   */
  forget(): void
  /** Why the last token could not be looked up; undefined after one that could. */
  readonly problem: ViewProblem | undefined
}

export interface BearerTokensOptions {
  readonly siteId: SiteId
  readonly introspect: (token: string, nonce: string) => Promise<unknown>
  readonly keys: Pick<FeedKeys, 'find'>
  readonly clock: GuardClock
  readonly signal: AbortSignal
  /** Called when a token cannot be looked up. */
  readonly onProblem?: () => void
  /** Whether an old response stays in use when the service cannot be reached. */
  readonly failsOpen?: boolean
  /** How many tokens are remembered at most. */
  readonly capacity?: number
}

const TOKEN = /^svc_at_[0-9A-Za-z]{49}$/
const CAPACITY = 10_000
const PENDING_MAX = 64
/** A token that is not active can become so again, when its issuer is trusted again. */
const REJECTED_MS = 5_000
const REJECTED_MAX = 4_096
/** A known token is introspected again after this time, while the old answer is still used… */
const CHECKED_MS = 120_000
/** …and after this time the old answer is no longer used. */
const CHECKED_MS_MAX = 300_000
const AS_OF_MS_MAX = 10_000
const ISSUED_AHEAD_MS_MAX = 10_000
/** `token_ttl_seconds_max` of the contract. */
const LIFETIME_MS_MAX = 3_600_000
const NONCE_BYTES = 16

interface KnownToken {
  readonly facts: TokenFacts
  /** By the monotonic clock. */
  readonly introspectedMs: number
}

/**
 * Concurrent requests with one token share one introspection. A token is kept until it expires or
 * others displace it.
 */
export function createBearerTokens(options: BearerTokensOptions): BearerTokens {
  const {
    siteId,
    introspect,
    keys,
    clock,
    signal,
    onProblem,
    failsOpen = false,
    capacity = CAPACITY,
  } = options
  /** The least recently used first. */
  const known = new Map<string, KnownToken>()
  /** Until when, by the monotonic clock. */
  const rejected = new Map<string, number>()
  const pending = new Map<string, Promise<TokenFacts | undefined>>()
  let generation = 0
  let problem: ViewProblem | undefined

  const introspectNow = async (token: string, sha256: string): Promise<TokenFacts | undefined> => {
    const began = generation
    const introspectedMs = clock.read().monotonicMs
    const nonce = encodeBase64url(globalThis.crypto.getRandomValues(new Uint8Array(NONCE_BYTES)))
    const proven = await requireProof(await introspect(token, nonce), { nonce, sha256 })
    const facts = parseTokenFacts(proven, sha256, siteId)
    if (facts === 'unreadable')
      throw new ServiceError(
        'answer_unknown',
        'the introspection response cannot be read; use the same version of service and SDK',
      )
    if (facts !== undefined) requireLifetime(facts, clock.read().wallMs)
    if (began !== generation)
      throw new ServiceError('unreachable', 'the log began a new epoch during an introspection')
    pending.delete(sha256)
    known.delete(sha256)
    if (facts === undefined) {
      if (rejected.size >= REJECTED_MAX) rejected.clear()
      rejected.set(sha256, clock.read().monotonicMs + REJECTED_MS)
    } else keep({ facts, introspectedMs })
    return facts
  }

  const introspectOnce = (token: string, sha256: string): Promise<TokenFacts | undefined> => {
    const running = pending.get(sha256)
    if (running !== undefined) return running
    if (pending.size >= PENDING_MAX)
      return Promise.reject(new ServiceError('overloaded', 'too many new tokens at once', 503))
    const began = generation
    const answer = introspectNow(token, sha256)
    pending.set(sha256, answer)
    answer.catch(() => began === generation && pending.delete(sha256))
    return answer
  }

  /**
   * The facts of a response that a trusted feed key has just signed, for this nonce and token.
   * Throws a `ServiceError` for any other response.
   */
  const requireProof = async (
    answer: unknown,
    { nonce, sha256 }: { readonly nonce: string; readonly sha256: string },
  ): Promise<JsonObject> => {
    if (!isJsonObject(answer as JsonValue))
      throw new ServiceError('answer_unknown', 'the introspection response is not a JSON object')
    const { proof: stated, ...facts } = answer as JsonObject
    const proof = parseIntrospectionProof(stated)
    if (proof === undefined)
      throw new ServiceError('introspection_unsigned', 'the introspection response is not signed')
    if (proof.nonce !== nonce || proof.site_id !== siteId || proof.token_sha256 !== sha256)
      throw new ServiceError(
        'introspection_mismatched',
        'the introspection response is for another nonce, site or token',
      )
    if (!(Math.abs(clock.read().wallMs - (parseTime(proof.as_of) ?? Infinity)) <= AS_OF_MS_MAX))
      throw new ServiceError(
        'introspection_stale',
        'the introspection response is more than 10 s old, or the clocks differ',
      )
    const key = await keys.find(proof.kid, signal)
    if (key === undefined || !(await isSignedBy(key, facts, proof)))
      throw new ServiceError(
        'introspection_unsigned',
        'no trusted feed key has signed the introspection response',
      )
    return facts
  }

  const keep = (token: KnownToken) => {
    const { tokenSha256 } = token.facts
    known.delete(tokenSha256)
    if (known.size >= capacity) known.delete(known.keys().next().value as string)
    known.set(tokenSha256, token)
  }

  /** The facts of a known token, introspected again when they are old. */
  const findFresh = (
    token: string,
    { facts, introspectedMs }: KnownToken,
  ): TokenFacts | Promise<TokenFacts | undefined> => {
    const ageMs = clock.read().monotonicMs - introspectedMs
    if (ageMs < CHECKED_MS) return facts
    const answer = introspectOnce(token, facts.tokenSha256)
    if (ageMs >= CHECKED_MS_MAX)
      return failsOpen ? answer.catch((error) => (isSilent(error) ? facts : Promise.reject(error))) : answer
    answer.catch(() => undefined)
    return facts
  }

  const find = async (token: string, nowMs: number, mayAsk: boolean): Promise<TokenFacts | undefined> => {
    if (!TOKEN.test(token)) return undefined
    const sha256 = await sha256Hex(token)
    const found = known.get(sha256)
    if (found !== undefined) {
      if (nowMs >= found.facts.expiresAtMs) {
        known.delete(sha256)
        return found.facts
      }
      keep(found)
      return mayAsk ? findFresh(token, found) : found.facts
    }
    if (!mayAsk || (rejected.get(sha256) ?? -Infinity) > clock.read().monotonicMs) return undefined
    return introspectOnce(token, sha256)
  }

  return {
    get problem() {
      return problem
    },
    async find(token, nowMs, mayAsk) {
      try {
        const facts = await find(token, nowMs, mayAsk)
        problem = undefined
        return facts
      } catch (error) {
        if (error instanceof ServiceError) {
          problem = { code: error.code, detail: `Bearer tokens cannot be looked up: ${error.message}` }
          onProblem?.()
        }
        throw error
      }
    },
    forget() {
      generation++
      known.clear()
      rejected.clear()
      pending.clear()
    },
  }
}

async function isSignedBy(key: PublicKey, facts: JsonObject, proof: IntrospectionProof): Promise<boolean> {
  try {
    return await checkIntrospection(facts, proof, key)
  } catch {
    // Facts without a canonical form were never signed.
    return false
  }
}

/** The service issues no token for longer than an hour, and none that is valid only later. */
function requireLifetime({ issuedAtMs, expiresAtMs }: TokenFacts, wallMs: number): void {
  if (expiresAtMs - issuedAtMs > LIFETIME_MS_MAX || issuedAtMs > wallMs + ISSUED_AHEAD_MS_MAX)
    throw new ServiceError('answer_unknown', 'the introspection response has an impossible lifetime')
}

function isSilent(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'unreachable' || error.code === 'silent')
}

/** Undefined for a token that is not active. */
function parseTokenFacts(
  body: JsonObject,
  tokenSha256: string,
  siteId: SiteId,
): TokenFacts | undefined | 'unreadable' {
  if (body.active === false) return undefined
  const ppid = parsePpid(body.sub)
  const scope = parseScopeList(body.scopes)
  const permissionId = parsePermissionId(body.permission_id)
  const credentialIds = Array.isArray(body.credential_chain)
    ? body.credential_chain.map(parseCredentialId)
    : []
  const holders = Array.isArray(body.holder_thumbprints) ? body.holder_thumbprints : undefined
  const { issuer, issuer_key: key } = body
  const signedAtMs = parseTime(body.root_created_at)
  const oldestSignedAtMs = parseTime(body.oldest_created_at)
  const issuedAtMs = toMs(body.iat)
  const expiresAtMs = toMs(body.exp)
  if (
    body.active !== true ||
    body.site_id !== siteId ||
    ppid === undefined ||
    scope === undefined ||
    permissionId === undefined
  )
    return 'unreadable'
  if (credentialIds.length === 0 || !isWhole(credentialIds)) return 'unreadable'
  if (holders === undefined || !holders.every(isThumbprint)) return 'unreadable'
  if (
    typeof issuer !== 'string' ||
    typeof key !== 'string' ||
    signedAtMs === undefined ||
    oldestSignedAtMs === undefined
  )
    return 'unreadable'
  if (issuedAtMs === undefined || expiresAtMs === undefined) return 'unreadable'
  const issuerKey = `${issuer}#${key}`
  return {
    tokenSha256,
    siteId,
    ppid,
    scope,
    permissionId,
    credentialIds,
    holders,
    isDelegated: credentialIds.length > 1,
    issuer,
    issuerKey,
    signedAtMs,
    oldestSignedAtMs,
    issuedAtMs,
    expiresAtMs,
  }
}

function toMs(seconds: unknown): number | undefined {
  return Number.isSafeInteger(seconds) ? (seconds as number) * 1000 : undefined
}

function isWhole<Item>(list: readonly (Item | undefined)[]): list is readonly Item[] {
  return !list.includes(undefined)
}
