import {
  type CredentialId,
  createMemoryNonces,
  didKey,
  type EntryBodies,
  type EntryKind,
  formatTime,
  type IssuerState,
  type LogHead,
  parseSiteId,
  type RevocationData,
  type SettingsState,
  type SiteId,
  sha256Hex,
  type TokenFacts,
  toHolderThumbprint,
} from '@countersign/core'
import { createGuard, type Guard } from '../guard/guard.ts'
import type { GuardOptions } from '../guard/options.ts'
import { requireOptions } from '../shared/require-options.ts'
import { createTestClock, rest, type TestClock } from './test-clock.ts'
import { type TestCredential, toPpid } from './test-credential.ts'
import { createTestFeedKeys, type FeedKey, type TestFeedKeys } from './test-feed-keys.ts'
import { createTestIssuer, type TestGrant } from './test-issuer.ts'
import { createTestLog, type TestLog } from './test-log.ts'
import {
  createTestOAuthIssuer,
  type TestAccessToken,
  type TestOAuthIssuer,
  type TestOAuthIssuerOptions,
} from './test-oauth-issuer.ts'
import { createTestService, type TestNetwork, type TestService } from './test-service.ts'
import { type TestExchange, TestTokens } from './test-tokens.ts'

export type { TestCredential } from './test-credential.ts'
export type { TestGrant } from './test-issuer.ts'

export interface TestSiteOptions {
  readonly siteId?: string
  /** The time at which everything begins. Default: now. */
  readonly startMs?: number
  readonly bearer?: 'on' | 'off'
  readonly holderProof?: 'optional' | 'required'
}

/**
 * A site that exists in this process only, with an issuer that it trusts and a service that a real
 * guard follows: issue, revoke, cut the feed, let time pass. Every change is known to the guards
 * made here before its promise resolves, unless the feed is cut.
 */
export interface TestSite {
  readonly siteId: string
  readonly clock: TestClock
  readonly service: TestService
  /** All that `createGuard` needs to follow this site. */
  readonly guardOptions: GuardOptions
  /** A guard of this site that is ready. */
  guard(options?: Partial<GuardOptions>): Promise<Guard>
  issue(grant?: TestGrant): Promise<TestCredential>
  /** A bearer token for a credential, as `exchange-proof` would give one. */
  exchange(credential: TestCredential, options?: TestExchange): Promise<string>
  /** The facts of a token that was issued here, revoked or not. */
  tokenFacts(token: string): Promise<TokenFacts | undefined>
  revoke(credential: TestCredential | string): Promise<void>
  /** By the name that the credential was issued to. */
  revokeUser(user: string): Promise<void>
  reinstateUser(user: string): Promise<void>
  /** Ends what the user has now. What is issued later is valid. */
  signOutUser(user: string): Promise<void>
  revokeToken(token: string): Promise<void>
  /** Revokes everything bound to this key: of a credential or token, or by its thumbprint. */
  revokeHolder(holder: TestCredential | TestAccessToken | string): Promise<void>
  /** Trusts an issuer of JWT access tokens, with which the test signs them. */
  trustOAuthIssuer(options?: TestOAuthIssuerOptions): Promise<TestOAuthIssuer>
  /** Ends every credential that the issuer has signed up to now. */
  cutOffIssuer(): Promise<void>
  /** Ends everything that was issued for this site up to now, by any issuer. */
  cutOffSite(): Promise<void>
  distrustIssuer(): Promise<void>
  /** Trusts the issuer (again), or under other conditions. */
  trustIssuer(changes?: Partial<Pick<IssuerState, 'scope' | 'credential_ttl_seconds_max'>>): Promise<void>
  retireKey(): Promise<void>
  compromiseKey(): Promise<void>
  changeSite(changes: Partial<SettingsState>): Promise<void>
  /** Any other entry of the log. */
  append<Kind extends EntryKind>(kind: Kind, body: EntryBodies[Kind]): Promise<void>
  /** Advances both clocks, with the heartbeats that become due. */
  advance(ms: number): Promise<void>
  cutFeed(): Promise<void>
  /** Connections stay open, but nothing is sent any more. */
  silenceFeed(): Promise<void>
  repairFeed(): Promise<void>
  /**
   * What a restore from an old backup does: a log that knows only the issuer and the current
   * settings, in a new epoch that signed statements announce. `keepEpoch`: in the same epoch, as
   * when a disk is set back. `isUnannounced`: without a statement.
   */
  restore(options?: { readonly keepEpoch?: boolean; readonly isUnannounced?: boolean }): Promise<void>
  /**
   * The next feed key signs from now on. With `compromised`, all keys before it are withdrawn at
   * once.
   */
  rotateFeedKey(options?: { readonly compromised?: boolean }): Promise<void>
  /**
   * The issuers that the site trusts, as the log states them: to have another test site trust them
   * too.
   */
  readonly issuers: readonly IssuerState[]
  readonly log: TestLog
  /** The feed key that signs now. */
  readonly feedKey: FeedKey
  readonly feedKeys: TestFeedKeys
  /** The revocation data of the service itself, to compare with that of a guard. */
  readonly revocationData: RevocationData
  close(): Promise<void>
}

const BASE_URL = 'https://countersign.test'
const API_KEY = 'svc_sk_test'
const SETTLE_TURNS_MAX = 50

/** Throws a TypeError for an invalid site id. */
export async function createTestSite(options: TestSiteOptions = {}): Promise<TestSite> {
  const { siteId, settings } = readOptions(options)
  const clock = createTestClock(options.startMs)
  const feedKeys = await createTestFeedKeys(clock.nowMs)
  const issuer = await createTestIssuer(siteId, clock)
  const tokens = new TestTokens(siteId, clock)
  const guards = new Set<Guard>()
  const subjectKey = crypto.getRandomValues(new Uint8Array(32))
  let log = createTestLog(siteId, randomEpoch(), subjectKey)
  let site = settings
  let trusted = issuer.state
  const revocationData: RevocationData = {
    get site() {
      return log.view
    },
    ageMs: 0,
    ageMsMax: 2_000,
  }
  const service = createTestService({
    baseUrl: BASE_URL,
    siteId,
    apiKey: API_KEY,
    clock,
    log,
    feedKeys,
    introspect: (token) => tokens.introspect(token, BASE_URL, revocationData),
  })
  const guardOptions: GuardOptions = {
    baseUrl: BASE_URL,
    siteId,
    apiKey: API_KEY,
    clock,
    fetch: service.fetch,
    onStateChange: () => undefined,
    // No earlier process can have seen a proof.
    nonceStore: memoryNonces(),
  }

  /** Waits until every connected guard has applied the whole log. */
  const settle = async () => {
    for (let turns = 0; turns < SETTLE_TURNS_MAX; turns++) {
      await rest()
      if (service.network !== 'ok' || ![...guards].some((guard) => isBehind(guard, log.head))) return
    }
  }
  const append = async <Kind extends EntryKind>(kind: Kind, body: EntryBodies[Kind]) => {
    await service.announce(await log.append(kind, body, clock.nowMs))
    await settle()
  }
  const setNetwork = async (network: TestNetwork) => {
    service.setNetwork(network)
    await (network === 'ok' ? settle() : rest())
  }
  const nowText = () => formatTime(clock.nowMs)
  const begin = async (next: TestLog) => {
    await next.append('site.changed', site, clock.nowMs)
    await next.append('issuer.trusted', trusted, clock.nowMs)
  }
  await begin(log)

  return {
    siteId,
    clock,
    service,
    guardOptions,
    revocationData,
    get issuers() {
      return [trusted]
    },
    append,
    get log() {
      return log
    },
    get feedKey() {
      return feedKeys.current
    },
    feedKeys,
    rotateFeedKey: (options) => feedKeys.rotate(clock.nowMs, options),
    async guard(more = {}) {
      const guard = createGuard({ ...guardOptions, nonceStore: memoryNonces(), ...more })
      guards.add(guard)
      await guard.ready()
      await settle()
      return guard
    },
    issue: issuer.issue,
    exchange: (credential, options) => tokens.exchange(credential, options),
    tokenFacts: (token) => tokens.facts(token),
    async revoke(credential) {
      const id = (typeof credential === 'string' ? credential : credential.credentialId) as CredentialId
      await append('credential.revoked', { credential_id: id, revoked_at: nowText() })
    },
    async revokeUser(user) {
      await append('user.revoked', { ppid: await toPpid(siteId, user), revoked_at: nowText() })
    },
    async reinstateUser(user) {
      await append('user.reinstated', { ppid: await toPpid(siteId, user), reinstated_at: nowText() })
    },
    async signOutUser(user) {
      await append('user.signed_out', { ppid: await toPpid(siteId, user), before: nowText() })
    },
    async revokeToken(token) {
      await append('token.revoked', { token_sha256: await sha256Hex(token), revoked_at: nowText() })
    },
    async revokeHolder(holder) {
      await append('holder.revoked', { thumbprint: await requireThumbprint(holder), revoked_at: nowText() })
    },
    trustOAuthIssuer: (options = {}) => createTestOAuthIssuer({ siteId, clock, subjectKey, append }, options),
    cutOffIssuer: () => append('issuer.cut_off', { issuer: issuer.did, before: nowText() }),
    cutOffSite: () => append('site.cut_off', { before: nowText() }),
    distrustIssuer: () => append('issuer.distrusted', { issuer: issuer.did }),
    async trustIssuer(changes = {}) {
      trusted = { ...trusted, ...changes }
      await append('issuer.trusted', trusted)
    },
    retireKey: () => append('key.retired', { issuer: issuer.did, key_id: issuer.keyId, at: nowText() }),
    compromiseKey: () =>
      append('key.compromised', { issuer: issuer.did, key_id: issuer.keyId, at: nowText() }),
    async changeSite(changes) {
      site = { ...site, ...changes }
      await append('site.changed', site)
    },
    async advance(ms) {
      await clock.advance(ms)
      await settle()
    },
    cutFeed: () => setNetwork('cut'),
    silenceFeed: () => setNetwork('silent'),
    repairFeed: () => setNetwork('ok'),
    async restore({ keepEpoch = false, isUnannounced = false } = {}) {
      const [, kept] = log.entries
      if (kept === undefined) throw new TypeError('a test log begins with two entries')
      const previous = { epoch: kept.epoch, seq: kept.seq, hash: kept.hash }
      log = createTestLog(siteId, keepEpoch ? log.head.epoch : randomEpoch(), subjectKey)
      await begin(log)
      const statement = { epoch: log.head.epoch, previous, at: nowText() }
      service.follow(log, keepEpoch || isUnannounced ? undefined : statement)
      await settle()
    },
    async close() {
      for (const guard of guards) await guard.close()
      service.close()
    },
  }
}

function readOptions(options: TestSiteOptions): {
  readonly siteId: SiteId
  readonly settings: SettingsState
} {
  requireOptions<TestSiteOptions>('createTestSite', options, {
    siteId: 'string',
    startMs: 'number',
    bearer: 'string',
    holderProof: 'string',
  })
  const siteId = parseSiteId(options.siteId ?? 'shop.example')
  if (siteId === undefined) throw new TypeError('siteId must be a lower-case host name')
  const { bearer = 'on', holderProof = 'optional' } = options
  if (!['on', 'off'].includes(bearer)) throw new TypeError('bearer must be "on" or "off"')
  if (!['optional', 'required'].includes(holderProof))
    throw new TypeError('holderProof must be "optional" or "required"')
  return {
    siteId,
    settings: { bearer, holder_proof: holderProof, delegation: 'on', credential_ttl_seconds_max: null },
  }
}

function isBehind(guard: Guard, head: LogHead): boolean {
  const { connection, epoch, seq } = guard.state()
  if (connection === 'loading' || connection === 'connecting') return true
  return connection === 'following' && (epoch !== head.epoch || seq !== head.seq)
}

async function requireThumbprint(holder: TestCredential | TestAccessToken | string): Promise<string> {
  if (typeof holder === 'string') return holder
  const thumbprint =
    'jwt' in holder
      ? holder.holderThumbprint
      : holder.holderKey && (await toHolderThumbprint(didKey(holder.holderKey.publicKey)))
  if (thumbprint === undefined) throw new TypeError('the credential or token is not bound to a key')
  return thumbprint
}

function randomEpoch(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(0, 16)
}

function memoryNonces() {
  return createMemoryNonces({ startedAtMs: Number.NEGATIVE_INFINITY })
}
