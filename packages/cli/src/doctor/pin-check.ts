import { checkFeedKeyStatement, parseFeedKey, parseFeedKeyStatement, parseTime } from '@countersign/core'
import type { Target } from '../service/connection.ts'
import { type Finding, problem } from './finding.ts'
import { ask } from './http-checks.ts'

const FIX = 'Check the address, and that service and command have the same version.'

/**
 * Prints the pins for guards: the current feed key and the hash of the next one. Both come from
 * discovery, so they are as trustworthy as this connection: run it on the machine of the service,
 * or over TLS.
 */
export async function checkPins(target: Target, nowMs = Date.now()): Promise<Finding> {
  const body = (await (await ask(target, '/.well-known/countersign')).json().catch(() => undefined)) as
    | { readonly feed?: { readonly chain?: unknown } }
    | undefined
  const listed = body?.feed?.chain
  const chain = Array.isArray(listed) ? listed.map(parseFeedKeyStatement) : []
  // Discovery lists a key a minute before it signs.
  const index = chain.findLastIndex(
    (statement) => statement !== undefined && (parseTime(statement.at) ?? Infinity) <= nowMs,
  )
  const current = chain[index] ?? chain[0]
  if (current === undefined) return problem('pins', 'Discovery lists no chain of feed keys.', FIX)
  const previous = current === chain[index] ? parseFeedKey(chain[index - 1]?.public_key_multibase) : undefined
  if ((await checkFeedKeyStatement(current, previous)) === undefined)
    return problem('pins', `The statement of feed key ${current.kid} is not signed by its keys.`, FIX)
  const pins = { [current.kid]: current.public_key_multibase, next: `sha256:${current.next_sha256}` }
  const lines = Object.entries(pins).map(
    ([name, pin]) => `  ${name === 'next' ? name : `'${name}'`}: '${pin}',`,
  )
  return {
    check: 'pins',
    level: 'ok',
    detail: ['Pins for guards, with the current feed key and the next:', 'feedKeys: {', ...lines, '}'].join(
      '\n',
    ),
    pins,
  }
}
