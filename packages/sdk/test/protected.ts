import type { GuardDemand } from '../src/guard/demand.ts'
import type { Guard } from '../src/guard/guard.ts'
import { testRequest } from '../src/testing/test-request.ts'
import type { TestCredential } from '../src/testing/test-site.ts'

/** A route of the site in the tests. */
export const ROUTE = 'https://shop.example/api/orders?page=2'

/** Shows a credential to a guard. */
export async function show(
  guard: Guard,
  credential: TestCredential,
  demand: GuardDemand = { scope: 'orders:read' },
) {
  return guard.verify(testRequest('GET', ROUTE, await credential.headersFor('GET', ROUTE)), demand)
}

export const showToken = (guard: Guard, token: string, demand: GuardDemand = { scope: 'orders:read' }) =>
  guard.verify(testRequest('GET', ROUTE, { authorization: `Bearer ${token}` }), demand)

/** `allowed`, or the code of the refusal. */
export const outcome = async (verdict: ReturnType<Guard['verify']>) => {
  const told = await verdict
  return told.ok ? 'allowed' : told.code
}
