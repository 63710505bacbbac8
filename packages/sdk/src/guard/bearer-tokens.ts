import {
  isJsonObject,
  type JsonValue,
  parseCredentialId,
  parsePermissionId,
  parsePpid,
  parseScopeList,
  parseTime,
  type SiteId,
  sha256Hex,
  type TokenFacts,
} from '@countersign/core'
import type { GuardClock } from '../view/clock.ts'
import { ServiceFault } from '../view/service.ts'

/** Finds out what a bearer token stands for. The facts never change; whether they still count is asked of the view at every use. */
export interface BearerTokens {
  /** Undefined for what is no token of this site, or is not known and may not be asked for. Rejects with a `ServiceFault` when asking failed. */
  find(token: string, nowMs: number, mayAsk: boolean): Promise<TokenFacts | undefined>
  /** Forgets everything, also what is being asked just now: the log is another one. */
  forget(): void
}

export interface BearerTokensOptions {
  readonly siteId: SiteId
  readonly introspect: (token: string) => Promise<unknown>
  readonly clock: GuardClock
  /** How many tokens are remembered at most. */
  readonly capacity?: number
}

const TOKEN = /^svc_at_[0-9A-Za-z]{49}$/
const CAPACITY = 10_000
const ASKED_AT_ONCE_MAX = 64
/** A token that is not active can become so again, when its issuer is trusted again. */
const REFUSED_MS = 5_000
const REFUSED_MAX = 4_096

/** Each token is asked for once, however many requests bring it at the same time, and kept until it ends or others displace it. */
export function createBearerTokens({ siteId, introspect, clock, capacity = CAPACITY }: BearerTokensOptions): BearerTokens {
  /** The least recently used first. */
  const known = new Map<string, TokenFacts>()
  /** Until when, by the monotonic clock. */
  const refused = new Map<string, number>()
  const asked = new Map<string, Promise<TokenFacts | undefined>>()
  let generation = 0

  const ask = async (token: string, sha256: string): Promise<TokenFacts | undefined> => {
    const began = generation
    const facts = parseTokenFacts(await introspect(token), sha256, siteId)
    if (facts === 'unreadable') throw new ServiceFault('answer_unknown', 'the service described a token in a way that cannot be read')
    if (began !== generation) throw new ServiceFault('unreachable', 'the log has become another one while a token was asked for')
    asked.delete(sha256)
    if (facts === undefined) {
      if (refused.size >= REFUSED_MAX) refused.clear()
      refused.set(sha256, clock.read().monotonicMs + REFUSED_MS)
    } else keep(facts)
    return facts
  }

  const keep = (facts: TokenFacts) => {
    known.delete(facts.tokenSha256)
    if (known.size >= capacity) known.delete(known.keys().next().value as string)
    known.set(facts.tokenSha256, facts)
  }

  return {
    async find(token, nowMs, mayAsk) {
      if (!TOKEN.test(token)) return undefined
      const hash = sha256Hex(token)
      const sha256 = typeof hash === 'string' ? hash : await hash
      const facts = known.get(sha256)
      if (facts !== undefined) {
        if (nowMs < facts.expiresAtMs) keep(facts)
        else known.delete(sha256)
        return facts
      }
      if (!mayAsk || (refused.get(sha256) ?? -Infinity) > clock.read().monotonicMs) return undefined
      let answer = asked.get(sha256)
      if (answer === undefined) {
        if (asked.size >= ASKED_AT_ONCE_MAX) throw new ServiceFault('overloaded', 'too many new tokens at once', 503)
        const began = generation
        answer = ask(token, sha256)
        asked.set(sha256, answer)
        answer.catch(() => began === generation && asked.delete(sha256))
      }
      return answer
    },
    forget() {
      generation++
      known.clear()
      refused.clear()
      asked.clear()
    },
  }
}

/** Undefined for a token that is not active. */
function parseTokenFacts(answer: unknown, tokenSha256: string, siteId: SiteId): TokenFacts | undefined | 'unreadable' {
  if (!isJsonObject(answer as JsonValue)) return 'unreadable'
  const said = answer as Readonly<Record<string, unknown>>
  if (said.active === false) return undefined
  const ppid = parsePpid(said.sub)
  const scope = parseScopeList(said.scopes)
  const permissionId = parsePermissionId(said.permission_id)
  const credentialChain = Array.isArray(said.credential_chain) ? said.credential_chain.map(parseCredentialId) : []
  const { issuer, issuer_key: key } = said
  const rootCreatedMs = parseTime(said.root_created_at)
  const oldestCreatedMs = parseTime(said.oldest_created_at)
  const issuedAtMs = msOf(said.iat)
  const expiresAtMs = msOf(said.exp)
  if (said.active !== true || said.site_id !== siteId || ppid === undefined || scope === undefined || permissionId === undefined)
    return 'unreadable'
  if (credentialChain.length === 0 || !isWhole(credentialChain)) return 'unreadable'
  if (typeof issuer !== 'string' || typeof key !== 'string' || rootCreatedMs === undefined || oldestCreatedMs === undefined)
    return 'unreadable'
  if (issuedAtMs === undefined || expiresAtMs === undefined) return 'unreadable'
  const issuerKey = `${issuer}#${key}`
  return {
    tokenSha256,
    siteId,
    ppid,
    scope,
    permissionId,
    credentialChain,
    issuer,
    issuerKey,
    rootCreatedMs,
    oldestCreatedMs,
    issuedAtMs,
    expiresAtMs,
  }
}

function msOf(seconds: unknown): number | undefined {
  return Number.isSafeInteger(seconds) ? (seconds as number) * 1000 : undefined
}

function isWhole<Item>(list: readonly (Item | undefined)[]): list is readonly Item[] {
  return !list.includes(undefined)
}
