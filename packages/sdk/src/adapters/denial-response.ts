import type { GuardDenial } from '../guard/verdict.ts'

/** A denial as a response. */
export function denialResponse({ status, headers, problem }: GuardDenial): Response {
  return new Response(JSON.stringify(problem), { status, headers: { ...headers } })
}
