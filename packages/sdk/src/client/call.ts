import type { PrivateKey } from '@countersign/core'
import { readBoundedBody } from '../shared/bounded-body.ts'
import { describeAddress, describeCause } from '../shared/cause.ts'
import { type OptionKinds, requireOptions } from '../shared/require-options.ts'
import { CountersignError } from './countersign-error.ts'
import { readDenial } from './read-denial.ts'

/**
 * Whether a call may be sent again when its answer is lost. `safe`: it changes nothing. `keyed`: an
 * Idempotency-Key makes it take effect once. `secret`: likewise, but its response is shown only
 * once. `once`: it consumes its input, so only a call that was rate limited is sent again.
 */
type Repeat = 'safe' | 'keyed' | 'secret' | 'once'

/**
 * What a client needs to know about one endpoint. Names in braces in the path come from the input;
 * the rest is the query or the body.
 */
export interface CallRow {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly repeat: Repeat
  /** Whether the API key is sent. */
  readonly key: boolean
  /** Whether it supports `Prefer: wait`. */
  readonly wait: boolean
  /** Whether it has a body, even if all members of that are optional. */
  readonly body: boolean
}

/** The address of the service, how to authenticate, and how long to wait. */
export interface Connection {
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly fetch: typeof globalThis.fetch | undefined
  readonly timeoutMs: number
  readonly retriesMax: number
  readonly nowMs: () => number
}

/** A signed credential, as JSON. */
export type CredentialObject = Readonly<Record<string, unknown>>

export interface CallOptions {
  /**
   * For calls that change something. Default: a new one for each call, the same for each of its
   * tries.
   */
  readonly idempotencyKey?: string
  /**
   * For revocations of any kind: how long to wait for every connected verifier to apply it. The
   * answer then has `propagation`. At most 30.
   */
  readonly waitSeconds?: number
  /** Authenticates with this credential instead of the API key: a user who revokes their own. */
  readonly credential?: CredentialObject
  /** Signs the request (RFC 9421): for a holder-bound credential, here or in the body. */
  readonly holderKey?: PrivateKey
  readonly signal?: AbortSignal
  /** For one try. */
  readonly timeoutMs?: number
}

const CALL_KINDS: OptionKinds<CallOptions> = {
  idempotencyKey: 'string',
  waitSeconds: 'number',
  credential: 'object',
  holderKey: 'object',
  signal: 'object',
  timeoutMs: 'number',
}

export type CallInput = Readonly<Record<string, unknown>>

/**
 * Calls the service and returns the body of its response. Throws a `CountersignError` when the
 * service rejects the call or cannot be reached, after retries where they are safe, and the reason
 * of `signal` when that fires. Redirects are not followed, so no other server gets the key.
 */
export async function call(
  connection: Connection,
  row: CallRow,
  input: CallInput = {},
  options: CallOptions = {},
): Promise<unknown> {
  requireOptions('a call', options, CALL_KINDS)
  const request = await toWireRequest(connection, row, input, options)
  for (let tries = 1; ; tries++) {
    const outcome = await tryOnce(connection, request, options).catch((error: unknown) => {
      if (error instanceof CountersignError) return error
      throw error
    })
    if (!(outcome instanceof CountersignError)) return outcome.body
    if (tries > connection.retriesMax || !mayRepeat(row.repeat, outcome))
      throw explainConflict(outcome, row, tries)
    const waitMs = waitMsBefore(tries, outcome)
    if (waitMs === undefined) throw outcome
    await sleep(waitMs, options.signal)
  }
}

/** A longer `Retry-After` is left to the caller. */
const RETRY_AFTER_SECONDS_MAX = 30
const BACKOFF_MS = 200
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

interface WireRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly timeoutMs: number
}

async function toWireRequest(
  connection: Connection,
  row: CallRow,
  input: CallInput,
  options: CallOptions,
): Promise<WireRequest> {
  const { credential, waitSeconds } = options
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = row.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const given = rest.get(name)
    const value = Number.isSafeInteger(given) ? String(given) : given
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a text`)
    rest.delete(name)
    return encodeURIComponent(value)
  })
  const headers: Record<string, string> = { accept: 'application/json' }
  if (credential !== undefined) {
    Object.assign(headers, (await proofs()).credentialField(credential))
  } else if (row.key && connection.apiKey !== undefined) headers['x-api-key'] = connection.apiKey
  if (row.repeat === 'keyed' || row.repeat === 'secret')
    headers['idempotency-key'] = options.idempotencyKey ?? globalThis.crypto.randomUUID()
  else if (options.idempotencyKey !== undefined) throw new TypeError('this call takes no idempotencyKey')
  if (waitSeconds !== undefined) {
    if (!row.wait) throw new TypeError('this call takes no waitSeconds')
    if (!Number.isInteger(waitSeconds) || waitSeconds < 0 || waitSeconds > 30)
      throw new TypeError('waitSeconds must be from 0 to 30')
    headers.prefer = `wait=${waitSeconds}`
  }
  const timeoutMs = (options.timeoutMs ?? connection.timeoutMs) + (waitSeconds ?? 0) * 1000
  if (row.method === 'GET' || row.method === 'DELETE') {
    // A reason may name a person, so it must not be in the URL.
    const reason = row.method === 'DELETE' ? rest.get('reason') : undefined
    if (reason !== undefined) {
      headers['x-reason'] = encodeURIComponent(String(reason))
      rest.delete('reason')
    }
    const query = toQuery(rest)
    return { method: row.method, url: connection.baseUrl + path + query, headers, body: undefined, timeoutMs }
  }
  // A member that the endpoint does not know is sent too, so that the service reports it.
  const body = row.body || rest.size > 0 ? JSON.stringify(Object.fromEntries(rest)) : undefined
  if (body !== undefined) headers['content-type'] = 'application/json'
  return { method: row.method, url: connection.baseUrl + path, headers, body, timeoutMs }
}

function toQuery(input: ReadonlyMap<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [name, value] of input)
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
  return query.size > 0 ? `?${query}` : ''
}

async function tryOnce(
  connection: Connection,
  { method, url, headers, body, timeoutMs }: WireRequest,
  { signal, holderKey }: CallOptions,
): Promise<{ readonly body: unknown }> {
  signal?.throwIfAborted()
  // A new signature for each try: its nonce works once.
  const proof =
    holderKey &&
    (await (await proofs()).proofFields({ method, url, headers, body }, holderKey, connection.nowMs()))
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const fetch = connection.fetch ?? globalThis.fetch
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...proof },
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    })
    return { body: await readAnswer(response, url) }
  } catch (error) {
    if (error instanceof CountersignError) throw error
    if (signal?.aborted) throw signal.reason
    const address = describeAddress(url)
    if (timeout.aborted)
      throw new CountersignError('timed_out', `${address} did not respond within ${timeoutMs} ms.`, {
        retryable: true,
      })
    const detail = `${address} could not be reached: ${describeCause(error)}`
    throw new CountersignError('no_answer', detail, { retryable: true, cause: error })
  }
}

/**
 * Loaded on demand: most callers use an API key. Imported through our own file, so that a bundle
 * contains only the parts of the core that this file uses.
 */
const proofs = () => import('./call-proof.ts')

async function readAnswer(response: Response, url: string): Promise<unknown> {
  const { status } = response
  if (status === 204) return undefined
  const isJson = /^application\/(?:[a-z0-9.-]+\+)?json\b/i.test(response.headers.get('content-type') ?? '')
  if (status >= 200 && status < 300 && isJson) {
    const bytes = await readBoundedBody(response.body, ANSWER_BYTES_MAX)
    const parsed = bytes && parsedJson(bytes)
    if (parsed !== undefined) return parsed.value
    throw new CountersignError(
      'answer_unknown',
      `The response from ${describeAddress(url)} is not JSON, or is too long.`,
      { status },
    )
  }
  const denial = await readDenial(response)
  if (denial !== undefined) throw new CountersignError(denial.code, denial.detail, { denial })
  await response.body?.cancel().catch(() => undefined)
  const detail = `The response from ${describeAddress(url)} has status ${status} and does not come from this service. Check baseUrl.`
  throw new CountersignError('answer_unknown', detail, { status, retryable: status === 429 || status >= 500 })
}

function parsedJson(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder().decode(bytes)) }
  } catch {
    return undefined
  }
}

function mayRepeat(repeat: Repeat, error: CountersignError): boolean {
  // Rate limited before the input was read, so nothing was consumed.
  if (repeat === 'once') return error.code === 'rate_limited'
  return error.retryable
}

function waitMsBefore(tries: number, { retryAfterSeconds }: CountersignError): number | undefined {
  if (retryAfterSeconds !== undefined)
    return retryAfterSeconds > RETRY_AFTER_SECONDS_MAX ? undefined : retryAfterSeconds * 1000
  return BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2)
}

/** Explains a conflict that our own retry has caused: the caller has made no mistake. */
function explainConflict(error: CountersignError, { repeat }: CallRow, tries: number): CountersignError {
  if (
    error.code !== 'idempotency_conflict' ||
    repeat !== 'secret' ||
    tries === 1 ||
    error.denial === undefined
  )
    return error
  const detail =
    'An earlier try of this call was carried out, but its answer was lost, and it held a secret that is shown only once. ' +
    'Find what it made and delete it, then call again.'
  return new CountersignError(error.code, detail, { denial: { ...error.denial, detail } })
}

/** Rejects with the reason of the signal when that fires first. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
