import { problemDetailsSchema, problems } from '@countersign/core/contract'
import { expect } from 'vitest'
import type { RawAnswer } from './raw-request.ts'

/**
 * The code of a denial, which has to be one that the contract knows, with all that belongs to it.
 * `isChallenged`: also a 403 has a challenge, as OAuth clients get it.
 */
export function deniedCode(
  { status, headers, text }: RawAnswer,
  { isChallenged = status === 401 }: { readonly isChallenged?: boolean } = {},
): string {
  expect(headers['content-type'], text).toBe('application/problem+json')
  // A guard names the request only when its caller has.
  // Adapters of MCP add the same as a JSON-RPC error.
  const { jsonrpc: _, id: _id, error: _error, ...problem } = JSON.parse(text)
  const { code, title, ...rest } = problemDetailsSchema.parse({ request_id: 'none', ...problem })
  expect([status, rest.status, title]).toEqual([
    problems[code].status,
    problems[code].status,
    problems[code].title,
  ])
  expect(headers['www-authenticate'] !== undefined).toBe(isChallenged)
  expect(headers['retry-after'] !== undefined).toBe(status === 503)
  expect(headers['cache-control']).toBe('no-store')
  return code
}
