import {
  type Allow,
  CREDENTIAL_HEADER,
  type Demand,
  type Denial,
  DPOP_HEADER,
  decide as decideByCore,
  deny,
  findBearerFault,
  findBearerMistake,
  findPresentation,
  type HolderRequest,
  isDenial,
  isPromise,
  type NonceStore,
  type Presentation,
  type RevocationData,
  type Verdict,
  type ViewStamp,
  WRONG_SIGNATURE,
  WRONG_TARGET,
} from '@countersign/core'
import { ServiceError } from '../feed/verifier-api.ts'
import type { BearerTokens } from './bearer-tokens.ts'
import type { ReadDemand } from './demand.ts'
import type { Reason } from './denial.ts'
import type { HolderRequests } from './holder-request.ts'
import type { KeyHints } from './key-hints.ts'
import { type GuardRequest, readLines } from './request.ts'

/**
 * What a decision is based on. It is read again after every wait, because the log may have changed.
 */
export interface DecisionData {
  readonly revocationData: RevocationData
  /**
   * The time to decide by; undefined after a jump of the clock that no heartbeat has confirmed yet.
   */
  nowMs(): number | undefined
  readonly tokens: Pick<BearerTokens, 'find'>
  readonly holderRequests: HolderRequests
  readonly nonces: NonceStore
  readonly keyHints?: KeyHints
}

/** Why a request is denied. */
export interface Rejection extends Reason {
  readonly ok: false
  /** What was presented; undefined when that could not be read. */
  readonly presented?: Allow['presented']
  /** The view behind the denial, if core has made it. */
  readonly view?: ViewStamp
  /**
   * The host of the request does not fit the guard's options: only the operator can correct that.
   */
  readonly isHostProblem?: boolean
}

/** A promise only where the decision has to wait: each one costs a request more than a check. */
type Decided = Allow | Rejection | Promise<Allow | Rejection>

/**
 * Decides about one request. Changes nothing but the nonce store, which consumes the nonce of an
 * accepted signature. Throws, or rejects, only with what `request.header` and `request.body` throw.
 */
export function decide(request: GuardRequest, demand: ReadDemand, data: DecisionData): Decided {
  const presentation = findPresentation((name) => readLines(request, name))
  if (isDenial(presentation)) return presentation
  const outcome =
    'bearer' in presentation
      ? decideBearer(presentation.bearer, demand, data)
      : decideProven(presentation, request, demand, data)
  return isPromise(outcome)
    ? outcome.then((later) => addPresented(later, presentation))
    : addPresented(outcome, presentation)
}

function addPresented(outcome: Allow | Rejection, presentation: Presentation): Allow | Rejection {
  if (outcome.ok) return outcome
  if ('bearer' in presentation) return { ...outcome, presented: 'bearer' }
  if ('header' in presentation) return { ...outcome, presented: 'credential' }
  return { ...outcome, presented: 'jwt', scheme: presentation.scheme }
}

/**
 * A credential or access token that may be bound to a key. Decided without the proof first, because
 * only callers whose proof alone is missing may cost a body and a signature check.
 */
function decideProven(
  presentation: ProvenPresentation,
  request: GuardRequest,
  demand: ReadDemand,
  data: DecisionData,
): Decided {
  const nowMs = data.nowMs()
  if (nowMs === undefined) return STALE
  const unproven =
    'jwt' in presentation
      ? toDemand(demand, nowMs)
      : toDemand(demand, nowMs, withoutSignature(presentation.header), NO_NONCES)
  // What was verified before is decided at once. The guard's clock is frozen until the first wait.
  const decided = decideByCore(presentation, unproven, data.revocationData)
  const conclude = (verdict: Verdict) => concludeProven(verdict, presentation, request, demand, data)
  return isPromise(decided) ? decided.then(conclude) : conclude(decided)
}

function concludeProven(
  verdict: Verdict,
  presentation: ProvenPresentation,
  request: GuardRequest,
  demand: ReadDemand,
  data: DecisionData,
): Decided {
  const isJwt = 'jwt' in presentation
  if (isJwt && !verdict.ok && verdict.code === 'token_invalid') data.keyHints?.reject(presentation.jwt)
  const isProofMissing =
    !verdict.ok &&
    verdict.code === 'proof_required' &&
    request.header(isJwt ? DPOP_HEADER : 'signature-input').length > 0
  return isProofMissing ? decideWithProof(presentation, request, demand, data) : toOutcome(verdict)
}

type ProvenPresentation = Exclude<Presentation, { readonly bearer: string }>

async function decideBearer(
  bearer: string,
  demand: ReadDemand,
  data: DecisionData,
): Promise<Allow | Rejection> {
  if (data.nowMs() === undefined) return STALE
  const { revocationData, tokens } = data
  const { site, ageMs, ageMsMax } = revocationData
  if (!(Number.isFinite(ageMs) && ageMs <= ageMsMax)) return STALE
  const fault = findBearerFault(site)
  if (fault !== undefined) return fault
  const isOn = site.settings.bearer === 'on'
  try {
    const token = await tokens.find(bearer, data.nowMs() ?? Infinity, isOn)
    if (token === undefined)
      return isOn
        ? { ...UNKNOWN_TOKEN, detail: findBearerMistake(bearer) ?? UNKNOWN_TOKEN.detail }
        : BEARER_OFF
    const nowMs = data.nowMs()
    if (nowMs === undefined) return STALE
    return toOutcome(await decideByCore({ token }, toDemand(demand, nowMs), revocationData))
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return error.code === 'overloaded' ? OVERLOADED : TOKENS_UNAVAILABLE
  }
}

/**
 * Decides again with the proof and, for a signature, with the body that it covers.
 */
async function decideWithProof(
  presentation: ProvenPresentation,
  request: GuardRequest,
  demand: ReadDemand,
  data: DecisionData,
): Promise<Allow | Rejection> {
  const { revocationData, nonces, holderRequests } = data
  // A DPoP proof does not cover the body.
  const body = 'jwt' in presentation ? undefined : await request.body?.()
  const signed = holderRequests.read(request, body)
  if (isDenial(signed)) return { ...signed, isHostProblem: signed.code === 'proof_invalid' }
  const nowMs = data.nowMs()
  if (nowMs === undefined) return STALE
  let hasStoreFailed = false
  const consume: NonceStore['consume'] = async (use) => {
    try {
      return await nonces.consume(use)
    } catch (error) {
      hasStoreFailed = true
      throw error
    }
  }
  try {
    const complete = toDemand(demand, nowMs, signed, { consume })
    const verdict = await decideByCore(presentation, complete, revocationData)
    if (verdict.ok || !mayBeHostProblem(verdict)) return toOutcome(verdict)
    const detail = `${verdict.detail} ${holderRequests.hintFor(signed)}`
    return { ...verdict, detail, isHostProblem: !holderRequests.hasPublicOrigin }
  } catch (error) {
    if (hasStoreFailed) return NONCES_UNAVAILABLE
    throw error
  }
}

/** The proof may have been made for the address that callers use, if the guard knows another. */
function mayBeHostProblem({ detail }: Denial): boolean {
  return detail === WRONG_SIGNATURE.detail || detail === WRONG_TARGET.detail
}

/** A guard describes stale data differently from the service. */
function toOutcome(verdict: Verdict): Allow | Rejection {
  return verdict.ok || verdict.code !== STALE.code ? verdict : { ...STALE, view: verdict.view }
}

function toDemand(
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

/** The request without its signature. It shows whether only the signature is missing. */
function withoutSignature(credential: string): HolderRequest {
  const header = (name: string) => (name === CREDENTIAL_HEADER ? [credential] : undefined)
  return { method: '', authority: '', path: '', query: '', header, body: 'none' }
}

const NO_NONCES: NonceStore = { consume: () => 'rejected' }

export const STALE: Denial = deny(
  'revocation_view_stale',
  'The revocation data of this verifier is stale. Try again in a moment.',
)
const UNKNOWN_TOKEN: Denial = deny(
  'token_invalid',
  'This bearer token is not valid here. Exchange the credential for a new one.',
)
const BEARER_OFF: Denial = deny(
  'bearer_disabled',
  'This site does not accept bearer tokens. Send the credential itself.',
)
const TOKENS_UNAVAILABLE: Rejection = {
  ok: false,
  code: 'store_unavailable',
  detail: 'Bearer tokens cannot be looked up at the moment. Try again in a moment.',
}
const NONCES_UNAVAILABLE: Rejection = {
  ok: false,
  code: 'store_unavailable',
  detail: 'Holder proofs cannot be checked at the moment. Sign the request again in a moment.',
}
const OVERLOADED: Rejection = {
  ok: false,
  code: 'overloaded',
  detail: 'This verifier received too many new bearer tokens at once. Try again in a moment.',
}
