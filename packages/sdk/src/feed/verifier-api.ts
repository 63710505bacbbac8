import { encodeHeadHeader, formatTime, type Heartbeat } from '@countersign/core'
import { readBoundedBody } from '../shared/bounded-body.ts'
import { describeAddress, describeCause } from '../shared/cause.ts'
import { SDK_VERSION } from '../shared/version.ts'
import type { Ago, Timings } from './apply-times.ts'
import type { GuardClock } from './clock.ts'

/** The calls of a verifier to the service. A call that fails rejects with a `ServiceError`. */
export interface VerifierApi {
  /** The feed keys, as discovery lists them. */
  discovery(signal: AbortSignal): Promise<unknown>
  snapshot(signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /**
   * The bytes of the feed after this cursor. It ends or rejects when the connection does, or when
   * nothing has come for too long. `proven` is the last heartbeat that proved the head of the view:
   * with it a service can detect that its store has lost entries.
   */
  feed(cursor: string, signal: AbortSignal, proven?: Heartbeat): Promise<AsyncIterable<Uint8Array>>
  /**
   * `isClosing`: this verifier rejects everything from now on. `refreshIssuer`: an OAuth issuer
   * with a key that this verifier does not know. `timings`: when entries took effect here.
   */
  acknowledge(
    head: { readonly epoch: string; readonly seq: number },
    signal: AbortSignal,
    isClosing?: boolean,
    refreshIssuer?: string,
    timings?: Timings,
  ): Promise<void>
  /** Decisions since the last report. */
  report(tallies: readonly TalliedVerdict[], signal: AbortSignal): Promise<void>
  /** `nonce` makes the service sign its response. */
  introspect(token: string, nonce: string, signal: AbortSignal): Promise<unknown>
}

/** How many decisions had this outcome: `allowed`, or the code of the denial. */
export interface TalliedVerdict {
  readonly presented: 'credential' | 'bearer' | 'jwt' | 'none'
  readonly outcome: string
  readonly count: number
}

/** A call has failed. Neither the message nor the code contains a key or a token. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  /** The service's problem code, or `unreachable`, `silent`, `answer_unknown`. */
  readonly code: string
  /** 0 if there was no response. */
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(code: string, detail: string, status = 0, retryAfterMs?: number, cause?: unknown) {
    super(detail, { cause })
    this.code = code
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

export interface VerifierApiOptions {
  readonly baseUrl: string
  readonly siteId: string
  readonly apiKey: string
  /** The configured name, if there is one. */
  readonly verifierId?: string | undefined
  /**
   * Undefined for a tool that only observes and makes no decisions. Receipts do not include it.
   */
  readonly instance: VerifierInstance | undefined
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly clock: GuardClock
}

/** What a verifier declares to the service, which computes receipts from it. */
interface VerifierInstance {
  /** Random for each guard. */
  readonly instanceId: string
  /** It rejects everything when its last signed head is older. */
  readonly ageMsMax: number
  readonly failsOpen: boolean
}

/** Longer than two heartbeats. A connection that was silent for so long is dead. */
const SILENCE_MS_MAX = 12_000
const ANSWER_MS_MAX = 5_000
/** The first byte of a large snapshot takes a while. */
const SNAPSHOT_MS_MAX = 30_000
const ANSWER_BYTES_MAX = 262_144

export function createVerifierApi({
  baseUrl,
  siteId,
  apiKey,
  verifierId,
  instance,
  fetch,
  clock,
}: VerifierApiOptions): VerifierApi {
  const site = `${baseUrl}/api/sites/${siteId}`
  const key = { 'x-api-key': apiKey }
  const named = {
    ...key,
    ...(verifierId !== undefined && { 'x-verifier-id': verifierId }),
    ...(instance && { 'x-verifier-instance': instance.instanceId }),
  }
  const declared = {
    ...named,
    'feed-version': '1',
    ...(instance && { 'x-verifier-max-staleness': String(Math.ceil(instance.ageMsMax / 1000)) }),
    ...(instance?.failsOpen && { 'x-verifier-fail-open': '1' }),
    ...(instance && { 'x-verifier-version': `sdk/${SDK_VERSION}` }),
  }
  const query = instance === undefined ? '?observe=1' : ''

  /** Treats a redirect as an error, so that no other server gets the key. */
  const send = async (
    url: string,
    init: RequestInit,
    watch: Watch,
    withinMs = ANSWER_MS_MAX,
  ): Promise<Response> => {
    watch.expect(withinMs, () => toSilence(url, withinMs))
    const response = await watch.race(fetch(url, { ...init, redirect: 'manual', signal: watch.signal }))
    if (!response.ok) throw await watch.race(readServiceError(response, url))
    return response
  }

  /** One call with a small response. */
  const ask = async (url: string, init: RequestInit, signal: AbortSignal): Promise<unknown> => {
    const watch = createWatch(clock, signal)
    try {
      const response = await send(url, init, watch)
      if (response.status === 204) return undefined
      const bytes = await watch.race(readBoundedBody(response.body, ANSWER_BYTES_MAX))
      return JSON.parse(new TextDecoder().decode(bytes))
    } catch (error) {
      throw toServiceError(error, signal, url)
    } finally {
      watch.end()
    }
  }

  const post = (body: unknown, headers: Record<string, string>): RequestInit => ({
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

  const open = async (
    url: string,
    headers: Record<string, string>,
    type: string,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> => {
    const watch = createWatch(clock, signal)
    try {
      const response = await send(url, { headers: { ...headers, accept: type } }, watch, withinMs)
      if (!response.body || !response.headers.get('content-type')?.startsWith(type))
        throw new ServiceError(
          'answer_unknown',
          `The response from ${describeAddress(url)} is not ${type}. Check baseUrl.`,
          response.status,
        )
      return pieces(response.body, watch, signal, url)
    } catch (error) {
      watch.end()
      throw toServiceError(error, signal, url)
    }
  }

  return {
    discovery: (signal) => ask(`${baseUrl}/.well-known/countersign`, {}, signal),
    snapshot: (signal) =>
      open(`${site}/snapshot${query}`, declared, 'application/x-ndjson', SNAPSHOT_MS_MAX, signal),
    feed(cursor, signal, proven) {
      const shown = proven === undefined ? {} : { 'x-verifier-head': encodeHeadHeader(proven) }
      return open(
        `${site}/feed${query}`,
        { ...declared, ...shown, 'last-event-id': cursor },
        'text/event-stream',
        ANSWER_MS_MAX,
        signal,
      )
    },
    async acknowledge({ epoch, seq }, signal, isClosing = false, refreshIssuer, timings) {
      const body = {
        epoch,
        seq,
        sent_at: formatTime(clock.read().wallMs),
        ...(isClosing && { closed: true }),
        ...(refreshIssuer !== undefined && { refresh_issuer: refreshIssuer }),
      }
      // Headers, because an older service rejects unknown members and ignores unknown headers.
      const times = instance && timings ? toTimingHeaders(timings) : {}
      await ask(`${site}/feed/ack`, post(body, { ...named, ...times }), signal)
    },
    async report(tallies, signal) {
      await ask(`${site}/feed/report`, post({ tallies }, named), signal)
    },
    introspect: (token, nonce, signal) =>
      ask(`${baseUrl}/api/auth/introspect`, post({ token, site_id: siteId, nonce }, key), signal),
  }
}

function toTimingHeaders({ applied, denied }: Timings): Record<string, string> {
  const toText = (times: readonly Ago[]) => times.map(({ seq, ms }) => `${seq}=${ms}`).join(', ')
  return {
    ...(applied.length > 0 && { 'x-verifier-applied': toText(applied) }),
    ...(denied.length > 0 && { 'x-verifier-denied': toText(denied) }),
  }
}

/**
 * Aborts when nothing comes for too long, or when its owner aborts. Every wait is also a race,
 * because not every fetch obeys its signal.
 */
interface Watch {
  readonly signal: AbortSignal
  /** Something must arrive within this time; otherwise what `late` returns ends the wait. */
  expect(withinMs: number, late: () => ServiceError): void
  /** One at a time. */
  race<Value>(promise: Promise<Value>): Promise<Value>
  /** Ends the connection. */
  end(): void
}

export function createWatch(clock: GuardClock, owner: AbortSignal): Watch {
  const controller = new AbortController()
  const { signal } = controller
  let giveUp: (reason: unknown) => void = () => undefined
  let cancel = () => {}
  const stop = (reason: unknown) => {
    cancel()
    owner.removeEventListener('abort', onOwner)
    controller.abort(reason)
    giveUp(reason)
  }
  const onOwner = () => stop(owner.reason)
  owner.addEventListener('abort', onOwner)
  if (owner.aborted) onOwner()
  return {
    signal,
    expect(withinMs, late) {
      cancel()
      if (!signal.aborted) cancel = clock.after(withinMs, () => stop(late()))
    },
    // Not Promise.race with a promise that lives as long as the stream: that would keep every chunk
    // in memory.
    race: (promise) =>
      new Promise((resolve, reject) => {
        giveUp = reject
        if (signal.aborted) reject(signal.reason)
        promise.then(resolve, reject)
      }),
    end: () => stop(new ServiceError('unreachable', 'The connection is no longer needed.')),
  }
}

async function* pieces(
  body: ReadableStream<Uint8Array>,
  watch: Watch,
  owner: AbortSignal,
  url: string,
): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  const late = () => toSilence(url, SILENCE_MS_MAX)
  try {
    for (;;) {
      watch.expect(SILENCE_MS_MAX, late)
      const { done, value } = await watch.race(reader.read())
      if (done) return
      yield value
    }
  } catch (error) {
    throw toServiceError(error, owner, url)
  } finally {
    watch.end()
    reader.cancel().catch(() => undefined)
  }
}

function toSilence(url: string, ms: number): ServiceError {
  const address = describeAddress(url)
  return new ServiceError(
    'silent',
    `${address} has sent nothing for ${ms / 1000} s. Check the network, and that no proxy buffers the feed; countersign doctor tests it.`,
  )
}

function toServiceError(error: unknown, owner: AbortSignal, url: string): unknown {
  if (owner.aborted || error instanceof ServiceError) return error
  const address = describeAddress(url)
  if (error instanceof SyntaxError)
    return new ServiceError('answer_unknown', `The response from ${address} is not JSON. Check baseUrl.`)
  return new ServiceError(
    'unreachable',
    `${address} could not be reached: ${describeCause(error)}`,
    0,
    undefined,
    error,
  )
}

const CODE = /^[a-z0-9_]{1,64}$/
const DETAIL_CHARS_MAX = 300

async function readServiceError(response: Response, url: string): Promise<ServiceError> {
  const { status } = response
  const wait = response.headers.get('retry-after')
  const bytes = await readBoundedBody(response.body, ANSWER_BYTES_MAX).catch(() => undefined)
  let said: { readonly code?: unknown; readonly detail?: unknown } = {}
  try {
    said = JSON.parse(new TextDecoder().decode(bytes)) ?? {}
  } catch {
    // Not from this service: an error page of a proxy, for example.
  }
  // Both are logged by the application, and a relay may have written them.
  const code = typeof said.code === 'string' && CODE.test(said.code) ? said.code : `http_${status}`
  const detail =
    typeof said.detail === 'string'
      ? said.detail.replaceAll(/\p{C}/gu, ' ').slice(0, DETAIL_CHARS_MAX)
      : `The response has status ${status} and does not come from this service. Check baseUrl.`
  return new ServiceError(
    code,
    `${detail} (${describeAddress(url)})`,
    status,
    wait !== null && /^\d{1,6}$/.test(wait) ? Number(wait) * 1000 : undefined,
  )
}
