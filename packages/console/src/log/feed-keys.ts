import { send } from '../api/call.ts'

/** The chain of feed keys that the service publishes. */
export async function loadFeedChain(signal?: AbortSignal): Promise<unknown> {
  const answer = await send('/.well-known/countersign', signal === undefined ? {} : { signal })
  const { feed } = (await answer.json()) as { feed?: { chain?: unknown } }
  return feed?.chain
}
