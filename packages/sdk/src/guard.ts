import {
  CREDENTIAL_HEADER,
  createMemoryNonces,
  createSignatureMemory,
  type Demand,
  type Deny,
  decide as decideByCore,
  deny,
  findPresentation,
  isDeny,
  type Knowledge,
  lapse,
  type NonceStore,
  type Presented,
  type ViewStamp,
} from '@countersign/core'
import { createBearerTokens } from './guard/bearer-tokens.ts'
import { type GuardDemand, readDemand } from './guard/demand.ts'
import { denialOf, type Reason } from './guard/denial.ts'
import { createHolderRequests } from './guard/holder-request.ts'
import { createLapseWatch } from './guard/lapse-watch.ts'
import { type GuardOptions, readGuardOptions } from './guard/options.ts'
import type { GuardRequest } from './guard/request.ts'
import { judgeSession, type SessionVerdict, type SignedInSession } from './guard/session.ts'
import type { GuardState } from './guard/state.ts'
import type { GuardAllow, GuardDenial, GuardVerdict } from './guard/verdict.ts'
import { createFeedKeys } from './view/feed-keys.ts'
import { createService, ServiceFault } from './view/service.ts'
import { createViewClient, type ViewProblem } from './view/view-client.ts'

/**
 * Protects the routes of one site. It knows what has been revoked because it follows the site's log, decides without asking anybody, and refuses
 * with 503 when it cannot know. Following begins with the first call of `ready`, `verify` or `isActive`.
 */
export interface Guard {
  /**
   * Decides about one request. Never rejects because of what a caller sent, except with what `request.body` throws. Right after the start it waits for
   * the first knowledge, a few seconds at most; later only for the introspection of a new bearer token, for a body and for the nonce store.
   */
  verify(request: GuardRequest, demand?: GuardDemand): Promise<GuardVerdict>
  /**
   * Whether a session that began with a hosted sign-in may go on. Sees the revocation of its credential and of its user; not of an issuer or a parent
   * credential, of which the sign-in says nothing. Throws a TypeError for a session without what a sign-in said.
   */
  isActive(session: SignedInSession): SessionVerdict
  /**
   * Fires when what let this request in no longer would: revoked, expired, distrusted, or the knowledge too old. Its reason is an `AccessEnded`. Pass
   * `done` to have it forgotten at the end of the request; otherwise it is kept until it fires. Throws a TypeError for what was not let in.
   */
  signal(of: GuardAllow | GuardRequest, done?: AbortSignal): AbortSignal
  state(): GuardState
  /** Resolves when a good credential would be let in. Rejects when the guard is closed before. */
  ready(): Promise<void>
  /** Ends everything: the feed, timers, signals. Afterwards everything is refused. */
  close(): Promise<void>
}

/** How long the first requests after a start wait for the first knowledge before they are refused. */
const FIRST_WAIT_MS = 5_000
/** What the memory of one process can do: see `createMemoryNonces`. The wider it is, the longer the silence after a start. */
const NONCE_AHEAD_MS_MAX = 2_000
const TIMER_MS_MAX = 3_600_000

/** The nonce store could not tell. */
class NonceFault extends Error {
  override readonly name = 'NonceFault'
}

/** Makes a guard; no I/O happens before its first use. Throws a TypeError that names every option that is wrong. */
export function createGuard(options: GuardOptions): Guard {
  const { baseUrl, siteId, ageMsMax, clock, failsOpen, verifierId, nonceStore, feedKeys, onStateChange, ...rest } =
    readGuardOptions(options)
  const service = createService({ ...rest, baseUrl, siteId, verifierId, clock })
  const keys = createFeedKeys({ pinned: feedKeys, discovery: service.discovery, clock })
  const client = createViewClient({ siteId, service, keys, clock, onChange: () => settle() })
  const closing = new AbortController()
  const tokens = createBearerTokens({ siteId, introspect: (token) => service.introspect(token, closing.signal), clock })
  const holderRequest = createHolderRequests(siteId, rest.publicOrigin)
  const admissions = new WeakMap<object, { readonly allowed: GuardAllow; readonly demand: Pick<Demand, 'scope' | 'anyScope'> }>()
  const watch = createLapseWatch((reason) => denial(reason))
  const knowledge: Knowledge = {
    site: client.view,
    // Asked anew each time: a decision may wait, and be overtaken.
    get ageMs() {
      return client.ageMs()
    },
    ageMsMax: failsOpen ? Number.MAX_VALUE : ageMsMax,
    signatures: createSignatureMemory(),
  }
  let nonces: NonceStore | undefined = nonceStore && guarded(nonceStore)
  let tokenProblem: ViewProblem | undefined
  let epoch = ''
  let told = ''
  let first: Promise<void> | undefined
  let isStarted = false
  let cancelTimer = () => {}
  const waiting = new Set<{ readonly resolve: () => void; readonly reject: (reason: unknown) => void }>()

  const isFresh = () => knowledge.ageMs <= ageMsMax && client.nowMs() !== undefined
  const stamp = (): ViewStamp => ({ epoch: client.view.head.epoch, seq: client.view.head.seq, ageMs: knowledge.ageMs })
  const openness = () => (failsOpen ? { failOpen: isFresh() ? ('armed' as const) : ('used' as const) } : undefined)
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
      ready().then(cancel, cancel).then(resolve)
    }).then(() => {
      first = undefined
    })
  }

  const ready = (): Promise<void> => {
    start()
    if (closing.signal.aborted) return Promise.reject(closing.signal.reason)
    if (isFresh()) return Promise.resolve()
    return new Promise((resolve, reject) => waiting.add({ resolve, reject }))
  }

  /** After everything that may have changed what is known, and when time alone may have. */
  const settle = () => {
    if (client.view.head.epoch !== epoch) {
      epoch = client.view.head.epoch
      tokens.forget()
    }
    const { ready: isReady, connection, problem } = state()
    if (isReady) {
      for (const { resolve } of waiting) resolve()
      waiting.clear()
    }
    watch.check()
    rearm()
    const now = `${isReady} ${connection} ${problem?.code}`
    if (now === told) return
    const isNews = problem !== undefined && !told.endsWith(` ${problem.code}`)
    told = now
    if (onStateChange !== undefined) tell(onStateChange)
    else if (isNews) console.warn(`countersign guard of ${siteId}: ${problem.code}: ${problem.detail}`)
  }

  const tell = (listener: (state: GuardState) => void) => {
    try {
      listener(state())
    } catch (error) {
      // Its fault must not look like one of the log.
      console.error(error)
    }
  }

  const rearm = () => {
    cancelTimer()
    if (closing.signal.aborted) return
    const nowMs = client.nowMs() ?? Infinity
    const ms = Math.min(...[ageMsMax - knowledge.ageMs + 1, watch.nextExpiryMs - nowMs].filter((left) => left > 0), TIMER_MS_MAX)
    cancelTimer = clock.after(ms, settle)
  }

  const state = (): GuardState => {
    const { epoch, seq, ageMs } = stamp()
    const problem = client.problem ?? tokenProblem ?? (isStarted && client.nowMs() === undefined ? CLOCK_JUMPED : undefined)
    return {
      ready: isFresh(),
      ageMs,
      epoch,
      seq,
      revocations: client.view.revocationCount,
      connection: client.connection,
      ...(problem && { problem }),
      verifierId,
    }
  }

  const decide = async (request: GuardRequest, asked: Pick<Demand, 'scope' | 'anyScope'>): Promise<GuardVerdict> => {
    const presentation = findPresentation((name) => request.header(name))
    if (isDeny(presentation)) return denial(presentation, request)
    const stale = client.nowMs() === undefined || !Number.isFinite(knowledge.ageMs) || knowledge.ageMs > knowledge.ageMsMax
    if (stale) return denial(STALE, request)
    let presented: Presented
    if ('bearer' in presentation) {
      const isOn = client.view.settings.bearer === 'on'
      const token = await tokens.find(presentation.bearer, client.nowMs() ?? Infinity, isOn)
      tokenProblem = undefined
      if (token === undefined) return denial(isOn ? NO_TOKEN : BEARER_OFF, request)
      presented = { token }
    } else presented = presentation
    const judge = (more: Partial<Demand>) => {
      const nowMs = client.nowMs()
      return nowMs === undefined ? undefined : decideByCore(presented, { ...asked, nowMs, ...more }, knowledge)
    }
    let verdict = await judge(presentation === presented ? unsigned(presentation.header) : {})
    if (verdict?.ok === false && verdict.code === 'proof_required' && request.header('signature-input').length > 0) {
      // All else is right, so now it is worth reading the body.
      const seen = holderRequest(request, await request.body?.())
      if (isDeny(seen)) return denial(seen, request)
      verdict = await judge({ request: seen, ...(nonces && { nonces }) })
    }
    if (verdict === undefined) return denial(STALE, request)
    if (!verdict.ok) return denial(verdict, request, verdict.view)
    const allowed: GuardAllow = failsOpen ? { ...verdict, ...openness() } : verdict
    const admission = { allowed, demand: asked }
    admissions.set(allowed, admission)
    admissions.set(request, admission)
    return allowed
  }

  return {
    async verify(request, demand = {}) {
      const asked = readDemand(demand)
      start()
      if (first !== undefined) await first
      try {
        return await decide(request, asked)
      } catch (error) {
        if (error instanceof NonceFault) return denial(NONCES_UNKNOWN, request)
        if (!(error instanceof ServiceFault)) throw error
        tokenProblem = { code: error.code, detail: `bearer tokens cannot be looked up: ${error.message}` }
        settle()
        return denial(error.code === 'overloaded' ? OVERLOADED : TOKENS_UNKNOWN, request)
      }
    },
    isActive(session) {
      start()
      return judgeSession(session, knowledge, client.nowMs(), ageMsMax)
    },
    signal(of, done) {
      const admission = admissions.get(of)
      if (admission === undefined) throw new TypeError('only what this guard has let in can be watched')
      const { allowed, demand } = admission
      const now = () => {
        const nowMs = client.nowMs()
        return nowMs === undefined ? STALE : lapse(allowed, { ...demand, nowMs }, knowledge)
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

const STALE: Deny = deny('revocation_view_stale', 'this verifier has not heard from the revocation log for too long; try again in a moment')
const NO_TOKEN: Deny = deny('token_invalid', 'this bearer token is not valid here; exchange the credential for a new one')
const BEARER_OFF: Deny = deny('bearer_disabled', 'this site takes no bearer tokens any more; send the credential itself')
const TOKENS_UNKNOWN: Reason = { code: 'store_unavailable', detail: 'bearer tokens cannot be looked up at the moment; try again soon' }
const NONCES_UNKNOWN: Reason = {
  code: 'store_unavailable',
  detail: 'holder proofs cannot be taken at the moment; sign the request again soon',
}
const OVERLOADED: Reason = { code: 'overloaded', detail: 'too many new bearer tokens at once; try again in a moment' }
const CLOCK_JUMPED: ViewProblem = {
  code: 'clock_jumped',
  detail: 'the clock of this machine has jumped ahead; waiting for a heartbeat of the service that explains it',
}

/** The request as if nobody had signed it: says whether a signature is all that is missing, and uses nothing up. */
function unsigned(credential: string): Pick<Demand, 'request' | 'nonces'> {
  const header = (name: string) => (name === CREDENTIAL_HEADER ? [credential] : undefined)
  return { request: { method: '', authority: '', path: '', query: '', header, body: 'none' }, nonces: NO_NONCES }
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
