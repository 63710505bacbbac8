import type { GuardRequest } from '../guard/request.ts'

/**
 * A request without a web framework, for `guard.verify`. A header may be given several times as a
 * list.
 */
export function testRequest(
  method: string,
  url: string,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
  body?: string | Uint8Array,
): GuardRequest {
  const lines = new Map(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      typeof value === 'string' ? [value] : value,
    ]),
  )
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  return { method, url, header: (name) => lines.get(name) ?? [], body: () => bytes }
}
