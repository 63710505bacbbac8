import {
  CREDENTIAL_HEADER,
  createMemoryNonces,
  type Demand,
  type Denial,
  decide as decideByCore,
  deny,
  findBearerFault,
  findBearerMistake,
  findPresentation,
  type HolderRequest,
  isDenial,
  type NonceStore,
  type Presented,
  type RevocationData,
  recheckAccess,
  SignatureCache,
  type Verdict,
  type ViewStamp,
  WRONG_SIGNATURE,
} from '@countersign/core'
import { createTurnClock } from '../feed/clock.ts'
import { createFeedKeys } from '../feed/feed-keys.ts'
import { createViewClient, type ViewProblem } from '../feed/log-follower.ts'
import { createService, ServiceFault } from '../feed/verifier-api.ts'
import { createNotes } from '../shared/private-slot.ts'
import { createLapseWatch } from './access-monitor.ts'
import { createBearerTokens } from './bearer-tokens.ts'
import { type GuardDemand, type ReadDemand, readDemand } from './demand.ts'
import { denialOf, type Reason } from './denial.ts'
import { createHolderRequests } from './holder-request.ts'
import { type GuardOptions, readGuardOptions } from './options.ts'
import { GuardNotReady, type ReadyOptions, readReadyOptions } from './ready.ts'
import { type GuardRequest, readLines, requireGuardRequest } from './request.ts'
import { requireLongLivedRuntime } from './runtime.ts'
import { judgeSession, type SessionVerdict, type SignedInSession } from './session.ts'
import type { GuardState } from './state.ts'
import type { GuardAllow, GuardDenial, GuardVerdict } from './verdict.ts'

/**
 * Protects the routes of one site. It knows what has been revoked because it follows the site's
 * log, decides without asking the service, and refuses with 503 when it cannot know. Following
 * begins with the first call of `ready`, `verify` or `isActive`.
 */
export interface Guard {
  /**
   * Decides about one request. Never rejects because of what a caller sent, except with what
   * `request.body` throws. Right after the start it waits for the first knowledge, a few seconds at
   * most; later only for the introspection of a new bearer token, for a body and for the nonce
   * store.
   */
  verify(request: GuardRequest, demand?: GuardDemand): Promise<GuardVerdict>
  /**
   * The same for callers in a hurry: the verdict is there at once unless something has to be waited
   * for. Then it also throws at once.
   */
  decide(request: GuardRequest, demand?: GuardDemand): GuardVerdict | Promise<GuardVerdict>
  /**
   * Whether a session that began with a hosted sign-in may go on. Sees the revocation of its
   * credential and of its user; not of an issuer or a parent credential, of which the sign-in says
   * nothing. Throws a TypeError for a session without what a sign-in said.
   */
  isActive(session: SignedInSession): SessionVerdict
  /**
   * Fires when what let this request in no longer would: revoked, expired, distrusted, or the
   * knowledge too old. Its reason is an `AccessEnded`. Pass `done` to have it forgotten at the end
   * of the request; otherwise it is kept until it fires. Throws a TypeError for what was not
   * accepted.
   */
  signal(of: GuardAllow | GuardRequest, done?: AbortSignal): AbortSignal
  state(): GuardState
  /**
   * Resolves when a valid credential would be accepted. Rejects when the guard is closed before,
   * and with `timeoutMs` with a `GuardNotReady` that says what is wrong and whether waiting can
   * help. Without `timeoutMs` it waits as long as it takes.
   */
  ready(options?: ReadyOptions): Promise<void>
  /** Ends everything: the feed, timers, signals. Afterwards everything is refused. */
  close(): Promise<void>
}

/**
 * How long the first requests after a start wait for the first knowledge before they are refused.
 */
const FIRST_WAIT_MS = 5_000
/**
 * What the memory of one process can do: see `createMemoryNonces`. The wider it is, the longer the
 * silence after a start.
 */
const NONCE_AHEAD_MS_MAX = 2_000
const TIMER_MS_MAX = 3_600_000

/** The nonce store could not tell. */
class NonceFault extends Error {
  override readonly name = 'NonceFault'
}

/**
 * Creates a guard; no I/O happens before its first use. Throws a TypeError that names every option
 * that is wrong, and an Error in a runtime in which a guard cannot work.
 */
export function createGuard(options: GuardOptions): Guard {
  requireLongLivedRuntime()
  const {
    baseUrl,
    siteId,
    ageMsMax,
    failsOpen,
    verifierId,
    instanceId,
    nonceStore,
    feedKeys,
    onStateChange,
    ...rest
  } = readGuardOptions(options)
  const clock = createTurnClock(rest.clock)
  const service = createService({
    ...rest,
    baseUrl,
    siteId,
    verifierId,
    instance: { instanceId, ageMsMax, failsOpen },
    clock,
  })
  const keys = createFeedKeys({ pinned: feedKeys, discovery: service.discovery, clock })
  const client = createViewClient({ siteId, service, keys, clock, onChange: () => settle() })
  const closing = new AbortController()
  const tokens = createBearerTokens({
    siteId,
    introspect: (token, nonce) => service.introspect(token, nonce, closing.signal),
    keys,
    clock,
    signal: closing.signal,
    failsOpen,
  })
  const holderRequests = createHolderRequests(siteId, rest.publicOrigin)
  const admissions = createNotes<{ readonly allowed: GuardAllow; readonly demand: ReadDemand }>()
  const watch = createLapseWatch((reason) => denial(reason))
  const signatures = new SignatureCache()
  const knowledge: RevocationData = {
    site: client.view,
    // Read again each time: a decision may wait, and be overtaken.
    get ageMs() {
      return client.ageMs()
    },
    get ageMsMax() {
      return failsOpen ? Number.MAX_VALUE : bound()
    },
    signatures,
  }
  let nonces: NonceStore | undefined = nonceStore && guarded(nonceStore)
  let tokenProblem: ViewProblem | undefined
  let epoch = ''
  let told = ''
  let carried = 0
  let first: Promise<void> | undefined
  let isStarted = false
  let isHostReported = false
  let cancelTimer = () => {}
  const waiting = new Set<{ readonly resolve: () => void; readonly reject: (reason: unknown) => void }>()

  /** The guard's own setting, or the smaller bound that the site's signed heads state. */
  const bound = () => Math.min(ageMsMax, client.view.maxAgeMs)
  const isKnown = () => Number.isFinite(knowledge.ageMs) && knowledge.ageMs <= knowledge.ageMsMax
  const isFresh = () => knowledge.ageMs <= bound() && client.nowMs() !== undefined
  const stamp = (): ViewStamp => ({
    epoch: client.view.head.epoch,
    seq: client.view.head.seq,
    ageMs: knowledge.ageMs,
  })
  const openness = () =>
    failsOpen ? { failOpen: isFresh() ? ('armed' as const) : ('used' as const) } : undefined
  const denial = (reason: Reason, request?: GuardRequest, view = stamp()): GuardDenial => ({
    ...denialOf(reason, baseUrl, view, request),
    ...openness(),
  })

  const start = () => {
    if (isStarted || closing.signal.aborted) return
    isStarted = true
    nonces ??= createMemoryNonces({ startedAtMs: clock.read().wallMs, aheadMsMax: NONCE_AHEAD_MS_MAX })
    client.start()
    first = new Promise<void>((resolve) => {
      const cancel = clock.after(FIRST_WAIT_MS, resolve)
      waitUntilReady().then(cancel, cancel).then(resolve)
    }).then(() => {
      first = undefined
    })
  }

  const ready = async (options: ReadyOptions = {}): Promise<void> => {
    const { timeoutMs } = readReadyOptions(options)
    start()
    // The guard's own timers keep no process alive. A caller that waits here wants the answer, so
    // the process must not end before it.
    const alive = setInterval(() => {}, TIMER_MS_MAX)
    await waitUntilReady(timeoutMs).finally(() => clearInterval(alive))
  }

  const waitUntilReady = async (timeoutMs?: number): Promise<void> => {
    if (closing.signal.aborted) throw closing.signal.reason
    if (isFresh()) return
    let cancel = () => {}
    await new Promise<void>((resolve, reject) => {
      const entry = { resolve, reject }
      waiting.add(entry)
      if (timeoutMs === undefined) return
      cancel = clock.after(timeoutMs, () => {
        waiting.delete(entry)
        reject(new GuardNotReady(siteId, timeoutMs, state().problem))
      })
    }).finally(() => cancel())
  }

  /** After everything that may have changed what is known, and when time alone may have. */
  const settle = () => {
    signatures.clearHeaders()
    if (client.view.head.epoch !== epoch) {
      epoch = client.view.head.epoch
      tokens.forget()
    }
    const { ready: isReady, connection, problem, carriedRevocations = 0 } = state()
    if (isReady) {
      for (const { resolve } of waiting) resolve()
      waiting.clear()
    }
    watch.check()
    rearm()
    const now = `${isReady} ${connection} ${carriedRevocations} ${problem?.code}`
    if (now === told) return
    const isNews = problem !== undefined && !told.endsWith(` ${problem.code}`)
    const hasNewlyCarried = carriedRevocations > 0 && carriedRevocations !== carried
    carried = carriedRevocations
    told = now
    if (onStateChange !== undefined) tell(onStateChange)
    else {
      if (isNews) console.warn(`countersign guard of ${siteId}: ${problem.code}: ${problem.detail}`)
      if (hasNewlyCarried) console.warn(`countersign guard of ${siteId}: ${carriedDetail(epoch, carried)}`)
    }
  }

  const tell = (listener: (state: GuardState) => void) => {
    try {
      listener(state())
    } catch (error) {
      // Its fault must not look like one of the log.
      console.error(error)
    }
  }

  /**
   * Once for each guard: only the operator can correct it, and callers must not be able to fill the
   * log.
   */
  const reportHost = (detail: string) => {
    if (isHostReported || onStateChange !== undefined) return
    isHostReported = true
    console.warn(`countersign guard of ${siteId}: a holder proof was rejected: ${detail}`)
  }

  const rearm = () => {
    cancelTimer()
    if (closing.signal.aborted) return
    const nowMs = client.nowMs() ?? Infinity
    const ms = Math.min(
      ...[bound() - knowledge.ageMs + 1, watch.nextExpiryMs - nowMs].filter((left) => left > 0),
      TIMER_MS_MAX,
    )
    cancelTimer = clock.after(ms, settle)
  }

  const state = (): GuardState => {
    const { epoch, seq, ageMs } = stamp()
    const problem =
      keys.problem ??
      client.problem ??
      tokenProblem ??
      (isStarted && client.nowMs() === undefined ? CLOCK_JUMPED : undefined)
    return {
      ready: isFresh(),
      ageMs,
      epoch,
      seq,
      revocations: client.view.revocationCount,
      ...(client.view.carriedRevocationCount > 0 && {
        carriedRevocations: client.view.carriedRevocationCount,
      }),
      ...(client.fork && { fork: client.fork }),
      connection: client.connection,
      ...(problem && { problem }),
      verifierId: verifierId ?? instanceId,
      instanceId,
    }
  }

  const judge = (request: GuardRequest, asked: ReadDemand): GuardVerdict | Promise<GuardVerdict> => {
    const presentation = findPresentation((name) => readLines(request, name))
    if (isDenial(presentation)) return denial(presentation, request)
    const nowMs = client.nowMs()
    if (nowMs === undefined) return denial(STALE, request)
    if ('bearer' in presentation) return judgeBearer(presentation.bearer, request, asked)
    const verdict = decideByCore(
      presentation,
      demandOf(asked, nowMs, unsigned(presentation.header), NO_NONCES),
      knowledge,
    )
    if (verdict instanceof Promise)
      return verdict.then((made) => judgeHolder(made, presentation, request, asked))
    return judgeHolder(verdict, presentation, request, asked)
  }

  const judgeBearer = async (
    bearer: string,
    request: GuardRequest,
    asked: ReadDemand,
  ): Promise<GuardVerdict> => {
    if (!isKnown()) return denial(STALE, request)
    const fault = findBearerFault(client.view)
    if (fault !== undefined) return denial(fault, request)
    const isOn = client.view.settings.bearer === 'on'
    const token = await tokens.find(bearer, client.nowMs() ?? Infinity, isOn)
    tokenProblem = undefined
    if (token === undefined)
      return denial(
        isOn ? { ...NO_TOKEN, detail: findBearerMistake(bearer) ?? NO_TOKEN.detail } : BEARER_OFF,
        request,
      )
    const nowMs = client.nowMs()
    if (nowMs === undefined) return denial(STALE, request)
    return conclude(await decideByCore({ token }, demandOf(asked, nowMs), knowledge), request, asked)
  }

  /**
   * The request was judged as if it were not signed. When a signature is all that is missing, it is
   * worth reading the body.
   */
  const judgeHolder = (
    verdict: Verdict,
    presentation: Presented,
    request: GuardRequest,
    asked: ReadDemand,
  ) => {
    const isMissing =
      !verdict.ok && verdict.code === 'proof_required' && request.header('signature-input').length > 0
    return isMissing ? judgeSigned(presentation, request, asked) : conclude(verdict, request, asked)
  }

  const judgeSigned = async (
    presentation: Presented,
    request: GuardRequest,
    asked: ReadDemand,
  ): Promise<GuardVerdict> => {
    const signed = holderRequests.read(request, await request.body?.())
    if (isDenial(signed)) {
      if (signed.code === 'proof_invalid') reportHost(signed.detail)
      return denial(signed, request)
    }
    const nowMs = client.nowMs()
    if (nowMs === undefined) return denial(STALE, request)
    const verdict = await decideByCore(presentation, demandOf(asked, nowMs, signed, nonces), knowledge)
    if (verdict.ok || verdict.detail !== WRONG_SIGNATURE.detail) return conclude(verdict, request, asked)
    const detail = `${verdict.detail}. ${holderRequests.hintFor(signed)}`
    if (rest.publicOrigin === undefined) reportHost(detail)
    return denial({ code: verdict.code, detail }, request, verdict.view)
  }

  const conclude = (verdict: Verdict, request: GuardRequest, demand: ReadDemand): GuardVerdict => {
    if (!verdict.ok) return denial(verdict.code === STALE.code ? STALE : verdict, request, verdict.view)
    const allowed: GuardAllow = failsOpen ? { ...verdict, ...openness() } : verdict
    const admission = { allowed, demand }
    admissions.set(allowed, admission)
    admissions.set(request, admission)
    return allowed
  }

  /** What could not be asked becomes a refusal, whatever else was thrown goes on. */
  const refusalFor = (error: unknown, request: GuardRequest): GuardDenial => {
    if (error instanceof NonceFault) return denial(NONCES_UNKNOWN, request)
    if (!(error instanceof ServiceFault)) throw error
    tokenProblem = { code: error.code, detail: `bearer tokens cannot be looked up: ${error.message}` }
    settle()
    return denial(error.code === 'overloaded' ? OVERLOADED : TOKENS_UNKNOWN, request)
  }

  const decide = (
    request: GuardRequest,
    ...rest: readonly [demand?: GuardDemand]
  ): GuardVerdict | Promise<GuardVerdict> => {
    requireGuardRequest(request)
    const asked = readDemand(...rest)
    start()
    const verdict =
      first === undefined ? clock.turn(() => judge(request, asked)) : first.then(() => judge(request, asked))
    return verdict instanceof Promise
      ? verdict.catch((error: unknown) => refusalFor(error, request))
      : verdict
  }

  return {
    verify: async (...args) => decide(...args),
    decide,
    isActive(session) {
      start()
      return judgeSession(session, knowledge, client.nowMs(), bound())
    },
    signal(of, done) {
      const admission = admissions.get(of)
      if (admission === undefined) throw new TypeError('only what this guard has accepted can be watched')
      const { allowed, demand } = admission
      const now = () => {
        const nowMs = client.nowMs()
        return nowMs === undefined ? STALE : recheckAccess(allowed, { ...demand, nowMs }, knowledge)
      }
      const signal = watch.watch({ expiresAtMs: allowed.subject.expiresAtMs, lapse: now }, done)
      rearm()
      return signal
    },
    state,
    ready,
    async close() {
      closing.abort(new Error('the guard is closed'))
      cancelTimer()
      await client.close()
      for (const { reject } of waiting) reject(closing.signal.reason)
      waiting.clear()
    },
  }
}

const STALE: Denial = deny(
  'revocation_view_stale',
  'this verifier has not heard from the revocation log for too long; try again in a moment',
)
const NO_TOKEN: Denial = deny(
  'token_invalid',
  'this bearer token is not valid here; exchange the credential for a new one',
)
const BEARER_OFF: Denial = deny(
  'bearer_disabled',
  'this site takes no bearer tokens any more; send the credential itself',
)
const TOKENS_UNKNOWN: Reason = {
  code: 'store_unavailable',
  detail: 'bearer tokens cannot be looked up at the moment; try again soon',
}
const NONCES_UNKNOWN: Reason = {
  code: 'store_unavailable',
  detail: 'holder proofs cannot be taken at the moment; sign the request again soon',
}
const OVERLOADED: Reason = {
  code: 'overloaded',
  detail: 'too many new bearer tokens at once; try again in a moment',
}
const CLOCK_JUMPED: ViewProblem = {
  code: 'clock_jumped',
  detail:
    'the clock of this machine has jumped ahead; waiting for a heartbeat of the service that explains it',
}

function carriedDetail(epoch: string, count: number): string {
  return `epoch ${epoch} of the log lacks ${count} revocations that this guard has proof of; they stay in effect here. Revoke them again on the service.`
}

function demandOf(
  { scope, anyScope }: ReadDemand,
  nowMs: number,
  request?: HolderRequest,
  nonces?: NonceStore,
): Demand {
  return {
    scope,
    nowMs,
    ...(anyScope && { anyScope }),
    ...(request && { request }),
    ...(nonces && { nonces }),
  }
}

/**
 * The request as if it were not signed: says whether a signature is all that is missing, and uses
 * nothing up.
 */
function unsigned(credential: string): HolderRequest {
  const header = (name: string) => (name === CREDENTIAL_HEADER ? [credential] : undefined)
  return { method: '', authority: '', path: '', query: '', header, body: 'none' }
}

const NO_NONCES: NonceStore = { consume: () => 'refused' }

function guarded(store: NonceStore): NonceStore {
  return {
    async consume(use) {
      try {
        return await store.consume(use)
      } catch (cause) {
        throw new NonceFault('the nonce store could not tell', { cause })
      }
    },
  }
}
