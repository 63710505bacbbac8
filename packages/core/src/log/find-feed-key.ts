import type { PublicKey } from '../proof/keys.ts'
import {
  checkFeedKeyStatement,
  FEED_KEY_STATEMENTS_MAX,
  type FeedKeyStatement,
  parseFeedKeyStatement,
} from './feed-key-statement.ts'

/**
 * Why a feed key cannot be used. `unknown`: the chain does not have it. `compromised`: it was
 * withdrawn because a key was compromised. `unreadable`: the chain is malformed, or one of its
 * statements does not continue the one before.
 */
export type FeedKeyFault = 'unknown' | 'compromised' | 'unreadable'

/**
 * The feed key that may have signed a receipt or the report of a drill, by the chain of feed keys
 * in the discovery of the service. A key that was marked as compromised is not returned: its thief
 * could have signed any receipt. The keys before it stay valid here, because the thief of a later
 * key cannot sign in their name.
 */
export function findReceiptKey(chain: unknown, kid: string): Promise<PublicKey | FeedKeyFault> {
  return findKey(chain, kid, ([next]) => next?.previous_compromised === true)
}

/**
 * The feed key that may have signed a current head or snapshot, by the chain of feed keys in the
 * discovery of the service. When a key is marked as compromised, all keys before it are withdrawn
 * for heads too, so none of them is returned.
 */
export function findHeadKey(chain: unknown, kid: string): Promise<PublicKey | FeedKeyFault> {
  return findKey(chain, kid, (later) => later.some(({ previous_compromised }) => previous_compromised))
}

async function findKey(
  chain: unknown,
  kid: string,
  isWithdrawnBy: (later: readonly FeedKeyStatement[]) => boolean,
): Promise<PublicKey | FeedKeyFault> {
  if (!Array.isArray(chain) || chain.length > FEED_KEY_STATEMENTS_MAX) return 'unreadable'
  const parsed = chain.map(parseFeedKeyStatement)
  const statements = parsed.filter((statement) => statement !== undefined)
  if (statements.length < parsed.length) return 'unreadable'
  const [own, ...later] = statements.slice(statements.findIndex((statement) => statement.kid === kid))
  if (own?.kid !== kid) return 'unknown'
  if (isWithdrawnBy(later)) return 'compromised'
  const found = await checkFeedKeyStatement(own, undefined)
  let previous = found
  for (const statement of later) {
    if (previous === undefined) return 'unreadable'
    previous = await checkFeedKeyStatement(statement, previous)
  }
  return found === undefined || previous === undefined ? 'unreadable' : found
}
