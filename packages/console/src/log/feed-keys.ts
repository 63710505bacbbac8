import {
  checkFeedKeyStatement,
  FEED_KEY_STATEMENTS_MAX,
  type FeedKeyStatement,
  type PublicKey,
  parseFeedKeyStatement,
} from '@countersign/core'
import { send } from '../api/call.ts'

/** Why the key of a signature cannot be used. */
export type KeyFault = 'unknown' | 'compromised' | 'unreadable'

/** The chain of feed keys that the service publishes. */
export async function loadFeedChain(signal?: AbortSignal): Promise<unknown> {
  const answer = await send('/.well-known/countersign', signal === undefined ? {} : { signal })
  const { feed } = (await answer.json()) as { feed?: { chain?: unknown } }
  return feed?.chain
}

/**
 * The feed key with this name. Each statement of the chain must continue the one before it. A key
 * that was compromised later is not returned: its thief could have signed anything.
 */
export async function findFeedKey(chain: unknown, kid: string): Promise<PublicKey | KeyFault> {
  if (!Array.isArray(chain) || chain.length > FEED_KEY_STATEMENTS_MAX) return 'unreadable'
  const statements: FeedKeyStatement[] = []
  for (const each of chain) {
    const statement = parseFeedKeyStatement(each)
    if (statement === undefined) return 'unreadable'
    statements.push(statement)
  }
  const [own, ...later] = statements.slice(statements.findIndex((statement) => statement.kid === kid))
  if (own?.kid !== kid) return 'unknown'
  if (later.some(({ previous_compromised }) => previous_compromised)) return 'compromised'
  const found = await checkFeedKeyStatement(own, undefined)
  let previous = found
  for (const statement of later) {
    if (previous === undefined) return 'unreadable'
    previous = await checkFeedKeyStatement(statement, previous)
  }
  return found === undefined || previous === undefined ? 'unreadable' : found
}
