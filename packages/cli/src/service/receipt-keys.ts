import type { FeedKeyStatement, PublicKey } from '@countersign/core'

/** Why the key of a receipt cannot be used. */
export type KeyFault = 'unknown' | 'compromised' | 'unreadable'

/**
 * The feed key with this name, by the chain of feed keys in the discovery of a service. Each
 * statement of the chain must continue the one before it. A key that was compromised is not
 * returned: its thief could have signed any receipt.
 */
export async function findReceiptKey(discovery: unknown, kid: string): Promise<PublicKey | KeyFault> {
  const { checkFeedKeyStatement, FEED_KEY_STATEMENTS_MAX, parseFeedKeyStatement } = await import(
    '@countersign/core'
  )
  const chain = (discovery as { feed?: { chain?: unknown } } | null)?.feed?.chain
  if (!Array.isArray(chain) || chain.length > FEED_KEY_STATEMENTS_MAX) return 'unreadable'
  const statements: FeedKeyStatement[] = []
  for (const each of chain) {
    const statement = parseFeedKeyStatement(each)
    if (statement === undefined) return 'unreadable'
    statements.push(statement)
  }
  const index = statements.findIndex((statement) => statement.kid === kid)
  if (index === -1) return 'unknown'
  const [own, ...later] = statements.slice(index)
  if (own === undefined) return 'unknown'
  // A later key that was compromised could not sign in the name of this one.
  if (later[0]?.previous_compromised) return 'compromised'
  const found = await checkFeedKeyStatement(own, undefined)
  let previous = found
  for (const statement of later) {
    if (previous === undefined) return 'unreadable'
    previous = await checkFeedKeyStatement(statement, previous)
  }
  return found === undefined || previous === undefined ? 'unreadable' : found
}
