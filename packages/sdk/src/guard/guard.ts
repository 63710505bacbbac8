import { type Allow, createMemoryNonces, type Denial, isPromise, recheckAccess } from '@countersign/core'
import { createFreezableClock } from '../feed/clock.ts'
import { createFeedKeys } from '../feed/feed-keys.ts'
import { LogFollower, type ViewProblem } from '../feed/log-follower.ts'
import { createVerifierApi } from '../feed/verifier-api.ts'
import { createPrivateSlot } from '../shared/private-slot.ts'
import { createAccessMonitor } from './access-monitor.ts'
import { createBearerTokens } from './bearer-tokens.ts'
import { type DecisionData, decide, type Rejection, STALE } from './decide.ts'
import { addDemands, type GuardDemand, type ReadDemand, readDemand } from './demand.ts'
import { type DenialContext, type Reason, toGuardDenial } from './denial.ts'
import { GuardData } from './guard-data.ts'
import { createHolderRequests } from './holder-request.ts'
import { createKeyHints } from './key-hints.ts'
import { type ReadyOptions, readReadyOptions } from './not-ready.ts'
import { type GuardOptions, readGuardOptions } from './options.ts'
import { Readiness } from './readiness.ts'
import { type GuardRequest, requireGuardRequest } from './request.ts'
import { toHints } from './resource-metadata.ts'
import { requireLongLivedRuntime } from './runtime.ts'
import { checkSession, type SessionVerdict, type SignedInSession } from './session.ts'
import { type GuardState, toGuardState } from './state.ts'
import { Upkeep } from './upkeep.ts'
import {
  type GuardAllow,
  type GuardAllowJwt,
  type GuardDenial,
  type GuardVerdict,
  toGuardAllow,
} from './verdict.ts'
import { createVerdictTally } from './verdict-tally.ts'

/**
 * Protects the routes of one site. It follows the site's revocation log, decides without a call to
 * the service, and denies with 503 while its revocation data is stale. Following begins with the
 * first call of `ready`, `verify` or `isActive`.
 */
export interface Guard {
  /**
   * Decides about one request. Never rejects because of what a caller sent, except with what
   * `request.body` throws. Right after the start it waits for the first revocation data, a few
   * seconds at most; later only for the introspection of a new bearer token, for a body and for the
   * nonce store.
   */
  verify(request: GuardRequest, demand?: GuardDemand): Promise<GuardVerdict>
  /**
   * Whether a session that began with a hosted sign-in is still active. Detects the revocation of
   * its credential and its parents, of its user and holder keys, and cut-offs; not that an issuer
   * is no longer trusted. Throws a TypeError for a session without the facts of its sign-in.
   */
  isActive(session: SignedInSession): SessionVerdict
  /**
   * Fires when the request would no longer be accepted: revoked, expired, distrusted, or the
   * revocation data is stale. Its reason is an `AccessEnded`. Pass `done` to stop watching at the
   * end of the request; otherwise it is watched until the signal fires. Throws a TypeError for a
   * request that was not accepted.
   */
  signal(of: GuardAllow | GuardRequest, done?: AbortSignal): AbortSignal
  /**
   * Whether an accepted request would be accepted now for this demand too, for demands that are
   * known only later, such as the scope of a tool that the body names. The demand is added to that
   * of the request, also for its signals. Throws a TypeError for a request that was not accepted.
   */
  recheck(of: GuardAllow | GuardRequest, demand: GuardDemand): GuardVerdict
  state(): GuardState
  /**
   * Resolves when a valid credential would be accepted. Rejects when the guard is closed before,
   * and with `timeoutMs` with a `GuardNotReady` that says what is wrong and whether waiting can
   * help. Without `timeoutMs` it waits as long as it takes.
   */
  ready(options?: ReadyOptions): Promise<void>
  /** Ends everything: the feed, timers, signals. Afterwards every request is denied. */
  close(): Promise<void>
}

/**
 * How far ahead a caller's clock may be where nonces are kept in memory. The larger it is, the
 * longer proofs are rejected after a start: see `createMemoryNonces`.
 */
const NONCE_AHEAD_MS_MAX = 2_000
const ALIVE_TIMER_MS = 3_600_000
/** No decision takes so long: the process was paused in the middle of it. */
const PAUSE_MS_MIN = 50

/**
 * Creates a guard; no I/O happens before its first use. Throws a TypeError that names every invalid
 * option, and an Error in a runtime in which a guard cannot work.
 */
export function createGuard(options: GuardOptions): Guard {
  requireLongLivedRuntime()
  const { baseUrl, siteId, ageMsMax, failsOpen, instanceId, feedKeys, ...rest } = readGuardOptions(options)
  const clock = createFreezableClock(rest.clock)
  const instance = { instanceId, ageMsMax, failsOpen }
  const api = createVerifierApi({ ...rest, baseUrl, siteId, instance, clock })
  const keys = createFeedKeys({ pinned: feedKeys, discovery: api.discovery, clock })
  const follower = new LogFollower({ siteId, api, keys, clock, onChange: () => upkeep.update() })
  const data = new GuardData(follower, ageMsMax, failsOpen)
  const closing = new AbortController()
  const tokens = createBearerTokens({
    siteId,
    introspect: (token, nonce) => api.introspect(token, nonce, closing.signal),
    keys,
    clock,
    signal: closing.signal,
    failsOpen,
    onProblem: () => upkeep.update(),
  })
  const tally = createVerdictTally((tallies) => api.report(tallies, new AbortController().signal), clock)
  const toDenial = (reason: Reason, context: DenialRequest = {}): GuardDenial => ({
    ...toGuardDenial(reason, { ...context, baseUrl, view: data.stamp }),
    ...data.failOpen,
  })
  const state = (): GuardState => {
    const hasJumped = decisionData !== undefined && data.nowMs() === undefined
    const clockProblem = hasJumped ? CLOCK_JUMPED : findLateness(follower.lateMs, data.freshMsMax)
    const problem = keys.problem ?? follower.problem ?? tokens.problem ?? clockProblem
    return toGuardState({ verifierId: rest.verifierId ?? instanceId, instanceId }, data, follower, problem)
  }
  const readiness = new Readiness({ siteId, clock, readState: state, onStateChange: rest.onStateChange })
  const monitor = createAccessMonitor((reason) => toDenial(reason))
  const upkeep = new Upkeep({ clock, data, tokens, monitor, readiness })
  const admissions = createPrivateSlot<{ readonly allowed: GuardAllow; demand: ReadDemand }>()
  const requireAdmission = (name: string, of: object) => {
    const admission = admissions.get(of)
    if (admission === undefined)
      throw new TypeError(`guard.${name} needs a request or verdict that this guard has accepted`)
    return admission
  }
  let decisionData: DecisionData | undefined

  const recheckDemand = (allowed: GuardAllow, demand: ReadDemand, nowMs: number): Denial | undefined => {
    let reason = recheckAccess(allowed, { ...demand, nowMs }, data)
    for (const anyScope of demand.furtherChoices ?? [])
      reason ??= recheckAccess(allowed, { scope: [], anyScope, nowMs }, data)
    return reason
  }

  /** Why access would be denied now. */
  const findEnd = (allowed: GuardAllow, demand: ReadDemand): Reason | undefined => {
    const nowMs = data.nowMs()
    const reason = nowMs === undefined ? STALE : recheckDemand(allowed, demand, nowMs)
    return reason && allowed.presented === 'jwt' ? { ...reason, scheme: toScheme(allowed) } : reason
  }

  /** It was decided by the time before a wait or a pause of the process. */
  const recheckOutcome = (outcome: Allow | Rejection, demand: ReadDemand): Allow | Rejection => {
    if (!outcome.ok) return outcome
    const { presented } = outcome
    const reason = findEnd(toGuardAllow(outcome), demand)
    return reason === undefined ? outcome : { ...reason, ok: false, presented }
  }

  const start = (): DecisionData => {
    if (decisionData !== undefined) return decisionData
    decisionData = {
      revocationData: data,
      nowMs: () => data.nowMs(),
      tokens,
      holderRequests: createHolderRequests(siteId, rest.publicOrigin),
      nonces:
        rest.nonceStore ??
        createMemoryNonces({ startedAtMs: clock.read().wallMs, aheadMsMax: NONCE_AHEAD_MS_MAX }),
      keyHints: createKeyHints(data.site, clock, (issuer) => follower.requestIssuerRefresh(issuer)),
    }
    if (!closing.signal.aborted) {
      follower.start()
      readiness.beginFirstWait()
    }
    return decisionData
  }

  const guard: Guard = {
    async verify(request, ...rest: readonly [demand?: GuardDemand]) {
      requireGuardRequest(request)
      const demand = readDemand(...rest)
      const decisionData = start()
      if (readiness.firstWait !== undefined) await readiness.firstWait
      const decided = clock.whileFrozen(() => decide(request, demand, decisionData))
      const outcome = isPromise(decided)
        ? recheckOutcome(await decided, demand)
        : clock.msSinceFrozen() > PAUSE_MS_MIN
          ? recheckOutcome(decided, demand)
          : decided
      tally.count(outcome.presented ?? 'none', outcome.ok ? 'allowed' : outcome.code)
      if (!outcome.ok) {
        if (outcome.isHostProblem) readiness.reportHost(outcome.detail)
        const denied = toDenial(outcome, { request, hints: toHints(demand, data.site) })
        return outcome.view === undefined ? denied : { ...denied, view: outcome.view }
      }
      const allow = toGuardAllow(outcome)
      const allowed: GuardAllow = failsOpen ? { ...allow, ...data.failOpen } : allow
      const admission = { allowed, demand }
      admissions.set(allowed, admission)
      admissions.set(request, admission)
      return allowed
    },
    isActive(session) {
      start()
      return checkSession(session, data)
    },
    recheck(of, demand) {
      const admission = requireAdmission('recheck', of)
      const { allowed } = admission
      const both = addDemands(admission.demand, readDemand(demand))
      const reason = findEnd(allowed, both)
      if (reason !== undefined)
        return toDenial(reason, { hints: toHints(both, data.site, allowed.subject.scope) })
      admission.demand = both
      return allowed
    },
    signal(of, done) {
      const admission = requireAdmission('signal', of)
      const { allowed } = admission
      const recheck = () => findEnd(allowed, admission.demand)
      const signal = monitor.watch({ expiresAtMs: allowed.subject.expiresAtMs, recheck }, done)
      upkeep.setTimer()
      return signal
    },
    state,
    async ready(options = {}) {
      const { timeoutMs } = readReadyOptions(options)
      start()
      // The guard's own timers keep no process alive. A caller that waits here needs the result, so
      // the process must not exit before it.
      const alive = setInterval(() => {}, ALIVE_TIMER_MS)
      await readiness.wait(timeoutMs).finally(() => clearInterval(alive))
    },
    async close() {
      const reason = new Error('the guard is closed')
      closing.abort(reason)
      upkeep.close()
      readiness.close(reason)
      await Promise.all([follower.close(), tally.close()])
    },
  }
  return Object.defineProperty(guard, TO_DENIAL, { value: toDenial satisfies ToDenial })
}

/** A registered symbol: a framework may load the adapter and the guard from two copies of this. */
const TO_DENIAL = /* @__PURE__ */ Symbol.for('countersign.toDenial')

type DenialRequest = Pick<DenialContext, 'request' | 'hints'>
type ToDenial = (reason: Reason, context: DenialRequest) => GuardDenial

/**
 * A denial for a reason that only an adapter can see. Throws a TypeError for an object that is not
 * from `createGuard`.
 */
export function toDenialBy(guard: Guard, reason: Reason, request: GuardRequest): GuardDenial {
  const toDenial = (guard as { readonly [TO_DENIAL]?: ToDenial })[TO_DENIAL]
  if (toDenial === undefined) throw new TypeError('the guard must be one that createGuard has returned')
  return toDenial(reason, { request })
}

/** A token that is bound to a key was presented with the DPoP scheme. */
function toScheme({ jwt }: GuardAllowJwt): 'Bearer' | 'DPoP' {
  return jwt.facts.holderThumbprint === undefined ? 'Bearer' : 'DPoP'
}

/** Data that is stale when it arrives never becomes fresh. */
function findLateness(lateMs: number, freshMsMax: number): ViewProblem | undefined {
  if (lateMs <= freshMsMax) return undefined
  const [late, max] = [lateMs, freshMsMax].map((ms) => Math.round(ms / 1000))
  return {
    code: 'clock_ahead',
    detail: `By the clock of this machine, the last head of the service was signed ${late} s before it arrived, and the data of this guard may be ${max} s old: this clock is ahead, or the one of the service is behind. Compare both with NTP and set the wrong one.`,
  }
}

const CLOCK_JUMPED: ViewProblem = {
  code: 'clock_jumped',
  detail:
    'The clock of this machine has jumped ahead. The guard waits for a heartbeat of the service that confirms it.',
}
