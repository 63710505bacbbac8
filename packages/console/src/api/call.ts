import { signal } from '@preact/signals'
import { say } from '../say.ts'
import { isAttended } from './attended.ts'

/** What is wrong with one member of a request. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

/** A response that is not a success, as the service described it. */
export class CallProblem extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly errors: readonly FieldError[]

  constructor(
    status: number,
    code: string,
    detail: string,
    requestId: string | undefined,
    errors: readonly FieldError[] = [],
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.requestId = requestId
    this.errors = errors
  }
}

/** No answer came: whether the request had an effect is not known. */
export class NoAnswer extends Error {}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  /** Why, for a DELETE: it has no body, and a reason is never in an address. */
  readonly reason?: string | undefined
  /** The site whose role is used; operators may use `all`. */
  readonly site?: string
  /** The same for every try of one act, so that a repeated request has no second effect. */
  readonly idempotencyKey?: string
  /** How long the service should wait for verifiers before it answers. */
  readonly waitSeconds?: number
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  /** Whether it was sent with a session that was replaced meanwhile. */
  readonly isAgain?: boolean
}

/** A call with its path: what a page does is also what it copies as a command. */
export interface ApiRequest extends Call {
  /** Begins with /api. */
  readonly path: string
}

/**
 * Whether the session has ended: the page then asks to sign in and keeps what was typed. Requests
 * that were rejected for it wait, and are sent again after the sign-in.
 */
export const sessionEnded = signal(false)

/** Whether the last request got no answer. Until one does, the page acts on nothing. */
export const isAway = signal(false)

const TIMEOUT_MS = 15_000

/** Calls an endpoint of the public API with the session of the browser. `path` begins with /api. */
export async function call<T>(path: string, options: Call = {}): Promise<T> {
  const answer = await send(`/console${path}`, options)
  if (answer.status === 204) return undefined as T
  try {
    return (await answer.json()) as T
  } catch (fault) {
    if (options.signal?.aborted) throw fault
    throw new NoAnswer(say('The answer of the service did not arrive completely.'), { cause: fault })
  }
}

const BUSY_MS = 1000
const BUSY_TRIES_MAX = 5

/**
 * The same, for numbers that a person waits for: a service with too much to do rejects them before
 * it begins, and is asked again.
 */
export async function callPatiently<T>(path: string, options: Call): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call<T>(path, options)
    } catch (fault) {
      if (!isBusyAnswer(fault) || tries === BUSY_TRIES_MAX) throw fault
      await waitWhileBusy()
    }
  }
}

/** Whether the service had too much to do, and has done nothing. */
export function isBusyAnswer(fault: unknown): boolean {
  return fault instanceof CallProblem && (fault.code === 'rate_limited' || fault.code === 'overloaded')
}

export function waitWhileBusy(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, BUSY_MS))
}

/** The same, for an answer that is read piece by piece. */
export async function send(path: string, options: Call = {}): Promise<Response> {
  const { method = 'GET', query = {}, body, site = 'all', idempotencyKey, waitSeconds } = options
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  const headers = new Headers({ 'countersign-console': site, accept: 'application/json' })
  if (method === 'GET' && !isAttended()) headers.set('countersign-background', '1')
  // Another tab may have signed in another person: nothing of this page happens in their name.
  if (personOfPage.value !== undefined && path !== '/console/session')
    headers.set('countersign-person', personOfPage.value)
  if (body !== undefined) headers.set('content-type', 'application/json')
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
  if (options.reason !== undefined) headers.set('x-reason', encodeURIComponent(options.reason))
  if (waitSeconds !== undefined) headers.set('prefer', `wait=${waitSeconds}`)
  const limits = [
    AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
    ...(options.signal ? [options.signal] : []),
  ]
  // A part of the path may be a text of the address, such as `../…`: it must lead nowhere else.
  if (new URL(path, 'http://localhost').pathname !== path) throw new Error(say('There is no such page.'))
  const url = search.size === 0 ? path : `${path}?${search}`
  let answer: Response
  try {
    answer = await fetch(url, {
      method,
      headers,
      signal: AbortSignal.any(limits),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  } catch (fault) {
    if (options.signal?.aborted) throw fault
    isAway.value = true
    throw new NoAnswer(say('The service did not answer.'), { cause: fault })
  }
  isAway.value = false
  if (answer.ok) return answer
  const problem = await toProblem(answer)
  if (problem.code !== 'session_required' || path.startsWith('/console/session')) throw problem
  // Another tab may have replaced the session of the request: then the cookie is newer now.
  const isReplaced = !sessionEnded.value && options.isAgain !== true && (await hasSession())
  if (!isReplaced) await untilSignedIn(options.signal)
  return send(path, { ...options, isAgain: isReplaced })
}

/** Resolves when the person has signed in again. */
async function untilSignedIn(stop: AbortSignal | undefined): Promise<void> {
  sessionEnded.value = true
  await new Promise<void>((resolve, reject) => {
    const end = sessionEnded.subscribe((hasEnded) => {
      if (hasEnded) return
      resolve()
      queueMicrotask(() => end())
    })
    stop?.addEventListener('abort', () => reject(stop.reason))
  })
}

/** The person that this page was opened for, and the only one that it sends requests for. */
export const personOfPage = signal<string | undefined>(undefined)

async function hasSession(): Promise<boolean> {
  try {
    const { person_id } = (await (await send('/console/session')).json()) as { person_id: string }
    return person_id === personOfPage.value
  } catch (fault) {
    return !(fault instanceof CallProblem && fault.code === 'session_required')
  }
}

async function toProblem(answer: Response): Promise<CallProblem> {
  const text = await answer.text().catch(() => '')
  let said: { code?: unknown; detail?: unknown; errors?: unknown } = {}
  try {
    said = JSON.parse(text)
  } catch {
    // A proxy may answer with a page of its own.
  }
  const code = typeof said.code === 'string' ? said.code : 'unexpected_answer'
  const detail =
    typeof said.detail === 'string'
      ? said.detail
      : say('The service answered {status}.', { status: answer.status })
  const errors = Array.isArray(said.errors) ? said.errors : []
  return new CallProblem(answer.status, code, detail, answer.headers.get('x-request-id') ?? undefined, errors)
}

export function newIdempotencyKey(): string {
  return crypto.randomUUID()
}
