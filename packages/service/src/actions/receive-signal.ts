import { createHash } from 'node:crypto'
import {
  canonicalJson,
  deriveSessionId,
  type JsonValue,
  type OAuthIssuer,
  type Ppid,
  readJwt,
  type SiteId,
  type SiteView,
  type UnverifiedJwt,
} from '@countersign/core'
import type { SecurityEventError, SignalSender, SignalType } from '@countersign/core/contract'
import { requireFreshView } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { loadCurrentView } from '../log/load-current-view.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import { Problem } from '../problem.ts'
import type { RouteRequest } from '../route.ts'
import { readSignal, SIGNAL_AGE_MS_MAX } from '../signals/read-signal.ts'
import { isSignalFault, type Signal } from '../signals/signal.ts'
import { RowForged } from '../store/errors.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type {
  KnownRevocation,
  NewSignal,
  ReceivedSignal,
  SignalEffect,
  SignalOutcome,
} from '../store/operations/signals.ts'
import { findSubjectIds, findUserRefIds, requireSubjectKey } from './user-ids.ts'

type SignalDeps = Pick<
  Deps,
  'config' | 'store' | 'keys' | 'views' | 'clock' | 'log' | 'meters' | 'rateLimiter' | 'signals'
>

/** A signal as it arrived; nothing of it has been checked. */
export interface ArrivedSignal {
  readonly siteId: SiteId
  readonly type: SignalType
  readonly token: string
  /** `sub_id` of the body, where the token only authenticates the sender. */
  readonly subject?: JsonValue
  readonly requestId: string
  /** For the wait for the keys of the sender, which another server may hold back. */
  readonly releaseWhile: RouteRequest['releaseWhile']
}

/** A sender that has signed the signal, and the OAuth issuer that it is registered with. */
interface VerifiedSender {
  readonly sender: SignalSender
  readonly issuer: OAuthIssuer
}

/** Longer than a signal may be repeated: older ones are rejected. */
const KEPT_MS = 4 * SIGNAL_AGE_MS_MAX
const SENDERS_MAX = 16
const EFFECTS_MAX = 32
/** Other callers may revoke and reinstate the same user in between. */
const TRIES_MAX = 4
const SEVERITY: readonly SignalOutcome[] = ['disabled', 'signed_out', 'session_ended', 'recorded']

/**
 * Verifies a signal and acts on it. When this returns, its effect is durable and this node already
 * denies. Throws a Problem for a signal that is not valid or names no user or session here; then
 * nothing was revoked.
 */
export async function receiveSignal(deps: SignalDeps, arrived: ArrivedSignal): Promise<void> {
  const { siteId, type } = arrived
  try {
    const { state, outcome } = await act(deps, arrived, await requireFreshView(deps, siteId))
    deps.meters.signal(type, state === 'repeated' ? state : outcome)
  } catch (error) {
    deps.meters.signal(type, error instanceof Problem ? (OUTCOMES[error.code] ?? 'rejected') : 'failed')
    throw error
  }
}

const OUTCOMES: Readonly<Record<string, 'unmapped' | 'failed'>> = {
  signal_subject_unmapped: 'unmapped',
  signal_keys_unavailable: 'failed',
  revocation_view_stale: 'failed',
  store_unavailable: 'failed',
}

async function act(deps: SignalDeps, arrived: ArrivedSignal, view: SiteView) {
  const { siteId, type, token, subject, requestId } = arrived
  const jwt = readJwt(token)
  if (jwt === undefined) throw invalid(type, 'it is not a signed JWT in compact form')
  const signal = readSignal(type, jwt, deps.clock.nowMs(), subject)
  if (isSignalFault(signal)) throw invalid(type, signal.fault, signal.err)
  const senders = await verifySenders(deps, jwt, signal, view, arrived)
  deps.rateLimiter.consume('signal', `${siteId} ${signal.issuer}`, deps.clock.clocks().monotonicMs)
  const context: AuditContext = { actor: `sender:${signal.issuer}`, atMs: deps.clock.nowMs(), requestId }
  const effects = await findEffects(deps, signal, senders, view)
  const facts = { siteId, type, issuer: signal.issuer, jti: signal.jti, event: signal.event }
  if (effects.length === 0 && signal.request !== 'none') {
    await recordUnmapped(deps, facts, context)
    throw new Problem('signal_subject_unmapped', undefined, { err: 'invalid_request' })
  }
  const kinds = effects.map(({ kind }) => kind)
  const received = await receive(
    deps,
    {
      ...facts,
      bodySha256: hashBody(jwt, subject),
      outcome: SEVERITY.find((each) => kinds.some((kind) => kind === each)) ?? 'recorded',
      effects,
      expiresAtMs: context.atMs + KEPT_MS,
    },
    context,
  )
  if (received.state === 'other_body')
    throw new Problem('signal_invalid', 'Its jti was used for another signal. Use a new jti for each signal.')
  await waitForLocalView(deps, received)
  return received
}

/** Recorded once: a copy of one such signal could otherwise fill the audit. */
async function recordUnmapped(
  { store, log, signals: { unmapped } }: SignalDeps,
  facts: Pick<NewSignal, 'siteId' | 'type' | 'issuer' | 'jti' | 'event'>,
  context: AuditContext,
): Promise<void> {
  const name = `${facts.siteId} ${facts.issuer} ${facts.jti}`
  if (unmapped.get(name)) return
  await store.recordUnmappedSignal(facts, context)
  unmapped.set(name, true)
  log.warn(facts, 'a signal names no user or session of the site')
}

/** The senders that have signed the token. Throws a Problem if there is none. */
async function verifySenders(
  deps: SignalDeps,
  jwt: UnverifiedJwt,
  { type, issuer }: Signal,
  view: SiteView,
  { releaseWhile }: Pick<ArrivedSignal, 'releaseWhile'>,
): Promise<readonly VerifiedSender[]> {
  const { siteId } = view
  const found = await deps.signals.findSenders(siteId, type, issuer)
  const registered = found.flatMap(({ sender, tokenIssuer }) => {
    const trusted = view.oauthIssuer(tokenIssuer)
    return trusted === undefined ? [] : [{ sender, issuer: trusted }]
  })
  if (registered.length === 0)
    throw invalid(type, 'its issuer is not registered as a sender', 'invalid_issuer')
  const addressed = registered
    .filter(({ sender }) => isAddressed(jwt, sender, deps.config.baseUrl, siteId))
    .slice(0, SENDERS_MAX)
  if (addressed.length === 0) throw invalid(type, 'aud does not name this receiver', 'invalid_audience')
  const checks = await releaseWhile(
    Promise.all(
      addressed.map(({ sender, issuer: trusted }) => deps.signals.keys.check(jwt, sender, trusted, siteId)),
    ),
  )
  const verified = addressed.filter((_, i) => checks[i] === 'valid')
  if (verified.length > 0) return verified
  if (checks.includes('unavailable'))
    throw new Problem('signal_keys_unavailable', undefined, { retryAfterSeconds: 10 })
  throw invalid(type, 'no key of the sender verifies its signature', 'invalid_key')
}

/** Whether the token is meant for this site. For a token revocation, `aud` is the endpoint. */
function isAddressed(
  { claims }: UnverifiedJwt,
  sender: SignalSender,
  baseUrl: string,
  siteId: SiteId,
): boolean {
  const { aud } = claims
  const named = typeof aud === 'string' ? [aud] : aud
  if (!Array.isArray(named) || !named.every((name) => typeof name === 'string')) return false
  const accepted =
    sender.type === 'token_revocation'
      ? [`${baseUrl}/api/sites/${siteId}/signals/token-revocation`]
      : sender.audience
  return named.some((name) => accepted.includes(name as string))
}

async function findEffects(
  deps: SignalDeps,
  signal: Signal,
  senders: readonly VerifiedSender[],
  view: SiteView,
): Promise<readonly SignalEffect[]> {
  if (signal.request === 'none') return []
  const found = new Map<string, SignalEffect>()
  for (const verified of senders) {
    const { sender, issuer } = verified
    const { session } = signal.subject
    if (session !== undefined && issuer.policy.sessionClaim !== undefined) {
      const credentialId = await deriveSessionId(requireSubjectKey(view), issuer.issuer, session)
      found.set(credentialId, { kind: 'session_ended', credentialId })
      continue
    }
    for (const ppid of await findUsers(deps, signal, sender, issuer, view))
      found.set(
        ppid,
        signal.request === 'disable'
          ? { kind: 'disabled', ppid }
          : { kind: 'signed_out', ppid, beforeMs: signal.atMs },
      )
  }
  if (found.size > EFFECTS_MAX) throw invalid(signal.type, `it concerns more than ${EFFECTS_MAX} ids`)
  return [...found.values()]
}

/** The ids of the user, as the sender is registered to name users; none if it does not. */
async function findUsers(
  deps: SignalDeps,
  { subject }: Signal,
  sender: SignalSender,
  issuer: OAuthIssuer,
  view: SiteView,
): Promise<readonly Ppid[]> {
  if (sender.subject === 'email_is_user_ref') {
    const ids = await Promise.all(subject.emails.map((email) => findUserRefIds(deps, view, email)))
    return ids.flat()
  }
  const own = subject.subs.filter((each) => each.issuer === sender.issuer || each.issuer === issuer.issuer)
  return (await Promise.all(own.map(({ sub }) => findSubjectIds(deps, view, issuer, sub)))).flat()
}

/**
 * The tables that say "already revoked" carry no MAC, so that is believed only if the log of this
 * node confirms it. Otherwise the revocation is appended.
 */
async function receive(
  deps: SignalDeps,
  signal: NewSignal,
  context: AuditContext,
): Promise<Exclude<ReceivedSignal, { state: 'known' }>> {
  let known: readonly KnownRevocation[] = []
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const received = await deps.store.receiveSignal(signal, context, known)
    if (received.state !== 'known') return received
    const view = await loadCurrentView(deps, signal.siteId)
    known = received.revoked.map((each) => ({ ...each, isInLog: isInLog(view, each.id, signal) }))
  }
  throw new RowForged('signals', `${signal.siteId} ${signal.issuer} ${signal.jti}`)
}

function isInLog(view: SiteView, id: string, { effects }: NewSignal): boolean {
  return effects.some((effect) => {
    if (effect.kind === 'session_ended')
      return effect.credentialId === id && view.credentialRevocation(effect.credentialId) !== undefined
    return effect.ppid === id && view.userRevocation(effect.ppid, Infinity) !== undefined
  })
}

/** Without the signature: ECDSA has a second valid one for every first one. */
function hashBody({ signingInput }: UnverifiedJwt, subject: JsonValue | undefined): string {
  const body = subject === undefined ? '' : canonicalJson(subject)
  return createHash('sha256').update(`${signingInput}\n${body}`).digest('hex')
}

/** The token of a token revocation is the sender's authentication, so its faults are 401. */
function invalid(type: SignalType, fault: string, err: SecurityEventError = 'invalid_request'): Problem {
  return type === 'token_revocation'
    ? new Problem('token_invalid', `The token of the sender is not valid: ${fault}. Send a new one.`)
    : new Problem(
        'signal_invalid',
        `The signal is not valid: ${fault}. Check the sender, then send it again.`,
        { err },
      )
}
