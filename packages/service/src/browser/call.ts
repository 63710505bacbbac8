import type { HolderKey } from './holder-key.ts'
import type { Message, PageMessages } from './page.ts'
import { createProofFields, credentialHeader } from './sign-request.ts'

export interface Call {
  readonly path: string
  readonly body: object
  /** Signs the request as the holder of this key. */
  readonly key?: HolderKey | undefined
  /** Goes into X-Service-Credential. */
  readonly credential?: object
  /** Called once when the answer takes long, so that the page can say that it is still working. */
  readonly onSlow?: () => void
}

/**
 * An answer, or a message why there is none, with the code of the problem. A call without a code
 * can be repeated.
 */
export type Answered = { readonly answer: Record<string, unknown> } | Rejected
export interface Rejected {
  readonly rejection: Message
  readonly code: string | undefined
  readonly requestId?: string | undefined
  /** Of a sign-in. */
  readonly triesLeft?: number | undefined
}

const SLOW_MS = 8_000
const CALL_MS_MAX = 20_000

/** Calls the service from this page, for at most 20 seconds. Never rejects. */
export async function call(
  { path, body, key, credential, onSlow = () => {} }: Call,
  messages: Pick<PageMessages<'wallet'>, 'common' | 'problems'>,
): Promise<Answered> {
  const { common, problems } = messages
  const abort = new AbortController()
  const timers = [setTimeout(onSlow, SLOW_MS), setTimeout(() => abort.abort(), CALL_MS_MAX)]
  try {
    const text = JSON.stringify(body)
    const url = new URL(path, location.origin)
    const header = credential && credentialHeader(credential)
    const shown = header === undefined ? {} : { credential: header }
    const proof =
      key === undefined
        ? {}
        : await createProofFields({ method: 'POST', url, body: text, ...shown }, key, Date.now())
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(header === undefined ? {} : { 'x-service-credential': header }),
        ...proof,
      },
      body: text,
      credentials: 'same-origin',
      redirect: 'error',
      signal: abort.signal,
    })
    const answer = (await response.json()) as Record<string, unknown>
    if (response.ok) return { answer }
    const code = String(answer.code)
    const triesLeft = typeof answer.tries_left === 'number' ? answer.tries_left : undefined
    return {
      code,
      triesLeft,
      requestId: response.headers.get('x-request-id') ?? undefined,
      rejection: Object.hasOwn(problems, code)
        ? problems[code as keyof typeof problems]
        : { title: String(answer.title), next: String(answer.detail) },
    }
  } catch {
    const rejection = abort.signal.aborted
      ? { title: common.tooSlow, next: common.tooSlowNext }
      : { title: common.noAnswer, next: common.noAnswerNext }
    return { code: undefined, rejection }
  } finally {
    for (const timer of timers) clearTimeout(timer)
  }
}
