import {
  type CredentialId,
  createMemoryNonces,
  credentialHeader,
  type DelegationTerms,
  delegateCredential,
  didKey,
  findPresentation,
  generatePrivateKey,
  holderRequestFrom,
  isDenial,
  type JsonObject,
  type PrivateKey,
  parseScopeList,
  SignatureCache,
  signRequest,
  type TokenFacts,
  type VerifierInput,
  verify,
} from '@countersign/core'
import { createRandom, type Random } from '../../core/test/fuzz/random.ts'
import { ANY_CREDENTIAL } from '../src/guard/demand.ts'
import type { Guard } from '../src/guard/guard.ts'
import { testRequest } from '../src/testing/test-request.ts'
import { createTestSite, type TestSite } from '../src/testing/test-site.ts'
import { createJwtWorld } from './agreement-jwts.ts'

/** One presentation about which the two do not agree. */
interface Disagreement {
  readonly at: number
  readonly seed: number
  readonly what: string
  readonly service: string
  readonly guard: string
}

export interface Agreement {
  readonly compared: number
  /** How often each answer was given by both. */
  readonly codes: Readonly<Record<string, number>>
  /**
   * Tokens that the guard refused and the service would have taken: it has just been told
   * otherwise, or remembers a narrower scope.
   */
  readonly lags: number
  readonly disagreements: readonly Disagreement[]
}

export interface AgreementOptions {
  readonly count: number
  readonly seed: number
  /** How many presentations are made to one state of the log. */
  readonly perView?: number
  readonly onProgress?: (done: number) => void
  /** What the guard says, as it is compared. For the control arm. */
  readonly bend?: (code: string, random: Random) => string
}

const SCOPES = ['orders:read', 'orders:write', 'admin'] as const
const USERS = 12
const ROUTE = 'https://shop.example/api/orders?page=2'
/** How long a guard remembers that a token was not active. */
const REFUSED_MS = 5_000

/**
 * Shows the same random things to a guard that follows a log over the feed, and to the core with
 * what the service itself knows, while the log goes on. Credentials and access tokens of OAuth
 * issuers must get the same answer, code for code. Of tokens of the service the guard has only what
 * introspection said: it may never accept what the service would not, and may refuse more only
 * while it has just been told otherwise.
 */
export async function agree({
  count,
  seed,
  perView = 100,
  onProgress,
  bend = (code) => code,
}: AgreementOptions): Promise<Agreement> {
  const random = createRandom(seed)
  const world = await createWorld(random)
  const codes: Record<string, number> = {}
  const disagreements: Disagreement[] = []
  let lags = 0
  for (let at = 0; at < count; at++) {
    if (at % perView === 0) await world.change()
    const { what, headers, isToken } = await world.something()
    const scope = random.oneIn(4) ? [] : [random.pick(SCOPES)]
    const service = await world.byService(headers, scope)
    const verdict = await world.guard.verify(
      testRequest('GET', ROUTE, headers),
      scope.length === 0 ? ANY_CREDENTIAL : { scope },
    )
    const told = bend(verdict.ok ? 'allowed' : verdict.code, random)
    if (told === service) codes[told] = (codes[told] ?? 0) + 1
    else if (isToken && told !== 'allowed' && service !== 'allowed')
      codes.another_refusal = (codes.another_refusal ?? 0) + 1
    else if (isToken && told !== 'allowed' && world.mayLag()) lags++
    else disagreements.push({ at, seed, what, service, guard: told })
    onProgress?.(at + 1)
  }
  await world.close()
  return { compared: count, codes, lags, disagreements }
}

interface Holding {
  readonly what: string
  readonly credential: JsonObject
  readonly header: string
  readonly key?: PrivateKey | undefined
}

type Lines = Readonly<Record<string, string | readonly string[]>>

async function createWorld(random: Random) {
  const startMs = Date.UTC(2026, 10, 14, 12)
  const site = await createTestSite({ startMs })
  // Another issuer for the same site, trusted now and then.
  const abroad = await createTestSite({ startMs })
  // An issuer that we trust, of a site that is not ours.
  const elsewhere = await createTestSite({ startMs, siteId: 'other.example' })
  const guard: Guard = await site.guard()
  const signatures = new SignatureCache()
  const nonces = createMemoryNonces({ startedAtMs: Number.NEGATIVE_INFINITY })
  const holdings: Holding[] = []
  const tokens: string[] = []
  const revoked: string[] = []
  let changedMs = -Infinity
  let isCapped = false
  let made = 0

  /** Of late: users who have been here for long have been revoked by now. */
  const someUser = () => `user-${Math.floor(made / 20) + random.int(USERS)}`
  const jwts = await createJwtWorld(site, random, ROUTE, someUser)
  const pickScope = () => SCOPES.filter((_, i) => i === 0 || random.oneIn(2))
  const grant = () => ({
    user: someUser(),
    scope: pickScope(),
    ttlSeconds: random.oneIn(5) ? 60 + random.int(600) : 86_400,
  })
  const hold = (what: string, credential: JsonObject, key?: PrivateKey) => {
    const holding = { what, credential, header: credentialHeader(credential), key }
    if (holdings.length < 200) holdings.push(holding)
    else holdings[random.int(holdings.length)] = holding
    return holding
  }
  const handOn = async (parent: Holding, at: TestSite, made: number) => {
    if (parent.key === undefined) return
    const key = await generatePrivateKey('Ed25519')
    const subject = parent.credential.credentialSubject as { scope: string[] }
    const delegation: DelegationTerms = {
      credentialId: `cred_delegated${made}` as CredentialId,
      scope: parseScopeList(subject.scope.slice(0, 1 + random.int(subject.scope.length))) ?? [],
      holderKey: didKey(key.publicKey),
      delegable: true,
      validFromMs: at.clock.nowMs,
      validUntilMs: at.clock.nowMs + 60_000,
    }
    const child = await delegateCredential(parent.credential, delegation, {
      key: parent.key,
      createdMs: at.clock.nowMs,
    }).catch(() => undefined)
    if (child !== undefined) hold('delegated', child, key)
  }
  const issue = async () => {
    made++
    const one = await site.issue(grant())
    hold('plain', one.credential)
    tokens.push(await site.exchange(one, { ttlSeconds: 60 + random.int(3_000) }))
    if (tokens.length > 60) tokens.splice(random.int(tokens.length), 1)
    const bound = await site.issue({ ...grant(), delegable: true })
    const holding = hold('bound', bound.credential, bound.holderKey)
    if (random.oneIn(2)) await handOn(holding, site, made)
    await jwts.issue()
    if (random.oneIn(3)) hold('of another issuer', (await abroad.issue(grant())).credential)
    if (random.oneIn(6)) hold('of another site', (await elsewhere.issue(grant())).credential)
  }
  const toId = ({ credential }: Holding) => String(credential.id).slice('did:service:'.length)
  const [foreign] = abroad.issuers
  const [strange] = elsewhere.issuers
  if (foreign === undefined || strange === undefined) throw new Error('a test site has an issuer')
  await site.append('issuer.trusted', strange)

  const advance = async (ms: number) => {
    await site.advance(ms)
    await abroad.clock.advance(ms)
    await elsewhere.clock.advance(ms)
  }
  /** What may happen to a log between two presentations. */
  const changes: (() => Promise<unknown>)[] = [
    ...jwts.changes,
    issue,
    issue,
    issue,
    () => site.revoke(toId(random.pick(holdings))),
    () => site.revoke(toId(random.pick(holdings))),
    () => site.revokeUser(someUser()),
    async () => {
      const user = someUser()
      await site.revokeUser(user)
      await site.reinstateUser(user)
    },
    async () => {
      const token = random.pick(tokens)
      revoked.push(token)
      await site.revokeToken(token)
    },
    () => advance(1_000 * (1 + random.int(60))),
    () => advance(1_000 * (1 + random.int(5))),
    () =>
      random.oneIn(2)
        ? site.append('issuer.trusted', foreign)
        : site.append('issuer.distrusted', { issuer: foreign.issuer }),
    async () => {
      changedMs = site.clock.nowMs
      await site.distrustIssuer()
      if (random.oneIn(2)) await advance(1_000 * random.int(8))
      changedMs = site.clock.nowMs
      await site.trustIssuer()
    },
    async () => {
      isCapped = true
      changedMs = site.clock.nowMs
      await site.trustIssuer({ scope: !random.oneIn(3) ? null : (parseScopeList(pickScope()) ?? null) })
    },
    async () => {
      changedMs = site.clock.nowMs
      await site.changeSite({
        bearer: random.oneIn(4) ? 'off' : 'on',
        holder_proof: random.oneIn(4) ? 'required' : 'optional',
        credential_ttl_seconds_max: random.oneIn(6) ? 3_600 : null,
      })
    },
    () =>
      site
        .append('issuer.distrusted', { issuer: strange.issuer })
        .then(() => site.append('issuer.trusted', strange)),
  ]

  const signedBy = async ({ header, key }: Holding): Promise<Record<string, string>> => {
    const headers = { 'x-service-credential': header }
    if (key === undefined) return headers
    const request = holderRequestFrom('GET', ROUTE, new Headers(headers), 'none')
    const nowMs = site.clock.nowMs - (random.oneIn(10) ? 61_000 : 0)
    return { ...headers, ...(await signRequest(request, { key, nowMs })) }
  }
  let lastSigned: Record<string, string> | undefined

  /** Anything that a caller may send. */
  const something = async (): Promise<{ what: string; headers: Lines; isToken?: boolean }> => {
    const holding = random.pick(holdings)
    switch (random.int(18)) {
      case 14:
      case 15:
      case 16:
      case 17:
        return jwts.something()
      case 0: {
        const at = random.int(holding.header.length)
        const changed =
          holding.header.slice(0, at) + random.pick([...'Aa0-_=+ ']) + holding.header.slice(at + 1)
        return { what: `${holding.what}, changed`, headers: { 'x-service-credential': changed } }
      }
      case 1:
        return { what: 'nothing', headers: random.oneIn(2) ? {} : { 'x-service-credential': ' ' } }
      case 2:
        return {
          what: 'two at once',
          headers: { 'x-service-credential': [holding.header, random.pick(holdings).header] },
        }
      case 3:
        return {
          what: 'both',
          headers: { 'x-service-credential': holding.header, authorization: `Bearer ${random.pick(tokens)}` },
        }
      case 4:
        return { what: `${holding.what}, unsigned`, headers: { 'x-service-credential': holding.header } }
      case 5:
        if (!random.oneIn(5))
          return { what: holding.what, headers: { 'x-service-credential': holding.header } }
        if (holding.key !== undefined && random.oneIn(4)) {
          lastSigned = await signedBy(holding)
          return { what: `${holding.what}, signed`, headers: lastSigned }
        }
        return { what: 'a signed request, again', headers: lastSigned ?? {} }
      case 6:
      case 7:
      case 8: {
        const token = random.oneIn(10)
          ? `svc_at_${'z'.repeat(49)}`
          : random.oneIn(12)
            ? 'svc_at_short'
            : random.pick(tokens)
        return {
          what: `token ${tokens.indexOf(token)}`,
          headers: { authorization: `Bearer ${token}` },
          isToken: true,
        }
      }
      default:
        // Signing takes its time, so mostly something that needs none.
        return {
          what: holding.what,
          headers:
            holding.key === undefined || random.oneIn(12)
              ? await signedBy(holding)
              : { 'x-service-credential': holding.header },
        }
    }
  }

  /** The core's own answer, by what the service knows. */
  const byService = async (headers: Lines, scope: readonly string[]): Promise<string> => {
    const lines = (name: string) => (headers[name] === undefined ? [] : [headers[name]].flat())
    const presentation = findPresentation(lines)
    if (isDenial(presentation)) return presentation.code
    const presented: VerifierInput =
      'bearer' in presentation
        ? { token: (await site.tokenFacts(presentation.bearer)) ?? NO_TOKEN }
        : presentation
    const request = holderRequestFrom('GET', ROUTE, { get: (name) => lines(name)[0] ?? null }, 'none')
    const demand = { scope: parseScopeList(scope) ?? [], nowMs: site.clock.nowMs, request, nonces }
    const { site: known, ageMs, ageMsMax } = site.revocationData
    const verdict = await verify(presented, demand, { site: known, ageMs, ageMsMax, signatures })
    return verdict.ok ? 'allowed' : verdict.code
  }

  for (let i = 0; i < 40; i++) await issue()
  return {
    guard,
    async change() {
      await issue()
      await random.pick(changes)()
    },
    something,
    byService,
    mayLag: () => isCapped || site.clock.nowMs - changedMs <= REFUSED_MS,
    close: () => site.close(),
  }
}

const NO_TOKEN = { siteId: '', credentialIds: [] } as unknown as TokenFacts
