import type { GuardOptions } from '../src/guard/options.ts'

type Fetch = NonNullable<GuardOptions['fetch']>

/**
 * What may happen to an answer on its way. Each is asked with the path, and leaves alone what it
 * has nothing to do with.
 */
export interface Meddling {
  /** The text of a piece of the feed, as it is passed on; undefined keeps it back. */
  readonly feedText?: (text: string) => string | undefined
  /** Waited for before the call is made. */
  readonly before?: (path: string, init: RequestInit) => Promise<Response | undefined> | Response | undefined
}

/** A network with an attacker in the middle. */
export function meddled(fetch: Fetch, { feedText, before }: Meddling): Fetch {
  return async (url, init) => {
    const path = new URL(url).pathname
    const instead = await before?.(path, init)
    if (instead !== undefined) return instead
    const response = await fetch(url, init)
    if (feedText === undefined || !path.endsWith('/feed') || response.body === null) return response
    const decoder = new TextDecoder()
    const encoder = new TextEncoder()
    const changed = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          const text = feedText(decoder.decode(chunk, { stream: true }))
          if (text !== undefined) controller.enqueue(encoder.encode(text))
        },
      }),
    )
    return new Response(changed, response)
  }
}

/** A gate that is open until it is shut; requests that come then wait. */
export function createGate() {
  let open: () => void = () => undefined
  let passage: Promise<void> = Promise.resolve()
  return {
    shut() {
      passage = new Promise((resolve) => {
        open = resolve
      })
    },
    open: () => open(),
    pass: () => passage,
  }
}
