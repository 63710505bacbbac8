import {
  type JsonObject,
  listHolders,
  type PermissionId,
  parseScopeList,
  type RevocationData,
  readCredentialHeader,
  type SiteId,
  sha256Hex,
  type TokenFacts,
  toGrounds,
  verify,
} from '@countersign/core'
import { requireOptions } from '../shared/require-options.ts'
import type { TestClock } from './test-clock.ts'
import { type TestCredential, toIntrospection } from './test-credential.ts'

/** What a bearer token inherits from its credential. */
export interface TestExchange {
  readonly scope?: readonly string[]
  readonly ttlSeconds?: number
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The bearer tokens that a test site has issued. */
export class TestTokens {
  readonly #siteId: SiteId
  readonly #clock: TestClock
  readonly #facts = new Map<string, TokenFacts>()

  constructor(siteId: SiteId, clock: TestClock) {
    this.#siteId = siteId
    this.#clock = clock
  }

  async exchange({ header }: TestCredential, options: TestExchange = {}): Promise<string> {
    requireOptions<TestExchange>('exchange', options, { scope: 'list', ttlSeconds: 'number' })
    const { scope, ttlSeconds = 900 } = options
    const read = readCredentialHeader(header)
    if ('ok' in read) throw new TypeError(read.detail)
    const { credential } = read
    const { nowMs } = this.#clock
    const token = randomToken()
    const tokenSha256 = await sha256Hex(token)
    this.#facts.set(tokenSha256, {
      tokenSha256,
      siteId: this.#siteId,
      ...toGrounds(credential, await listHolders(credential)),
      scope: parseScopeList(scope ?? credential.scope) ?? [],
      permissionId: (credential.permissionId ?? 'perm_default') as PermissionId,
      issuedAtMs: nowMs,
      expiresAtMs: Math.min(nowMs + ttlSeconds * 1000, credential.validUntilMs),
    })
    return token
  }

  async facts(token: string): Promise<TokenFacts | undefined> {
    return this.#facts.get(await sha256Hex(token))
  }

  /** The answer of the service, without its proof. */
  async introspect(token: string, baseUrl: string, data: RevocationData): Promise<JsonObject> {
    const facts = await this.facts(token)
    if (facts === undefined) return { active: false }
    const verdict = await verify({ token: facts }, { scope: [], nowMs: this.#clock.nowMs }, data)
    return verdict.ok ? toIntrospection(facts, baseUrl) : { active: false }
  }
}

function randomToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(49))
  return `svc_at_${[...bytes].map((byte) => DIGITS[byte % 62]).join('')}`
}
