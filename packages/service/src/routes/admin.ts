import { type EndpointId, endpointList } from '@countersign/core/contract'
import { type Routes, routes } from './all.ts'
import { metrics } from './health.ts'

/**
 * Of the endpoints outside administration and health: those that an operator needs when the main
 * port is busy.
 */
const REVOCATION: ReadonlySet<EndpointId> = new Set([
  'revoke_token',
  'revoke_user',
  'revoke_credential',
  'reinstate_user',
  'sign_out_user',
  'propagation_receipt',
  // The console checks signatures with the feed keys in it.
  'discovery',
  // The console shows it.
  'site_logo',
])

/**
 * The routes of the admin listener: health, metrics, administration, the console and revocation.
 * Verifications and feeds of verifiers are not among them, because the listener is only reachable
 * under load as long as load cannot move to it.
 */
export const adminRoutes: Routes = {
  ...Object.fromEntries(
    endpointList.flatMap(({ id, tag }) =>
      ['health', 'administration', 'console'].includes(tag) || REVOCATION.has(id)
        ? [[id, routes[id]] as const]
        : [],
    ),
  ),
  metrics,
}
