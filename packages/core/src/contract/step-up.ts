import type { EndpointId, endpoints } from './endpoints.ts'

type Contract = typeof endpoints
/** A person is never a verifier: in the console, the feed and the snapshot are for observers. */
type ForVerifiers = 'acknowledge' | 'report_verdicts'

/** The endpoints that people can call in the console, under `/console/api`. */
export type ConsoleEndpointId = Exclude<
  {
    [Id in EndpointId]: Contract[Id]['auth'] extends
      | 'api_key'
      | 'operator_key'
      | 'api_key_or_credential'
      | 'api_key_optional'
      ? Id
      : never
  }[EndpointId],
  ForVerifiers
>

/**
 * Whether a person must have signed in recently: for what grants access, and for what affects many.
 * Never for revoking one user, credential or token, which is an emergency and only ends access.
 * Every endpoint is decided here; one that is not listed does not compile, and is not mounted.
 */
export const stepUp: Readonly<Record<ConsoleEndpointId, boolean>> = Object.freeze({
  revoke_user: false,
  revoke_credential: false,
  revoke_token_by_id: false,
  revoke_targets: true,
  revoke_holder: false,
  sign_out_user: false,
  revocation_status: false,
  resolve_user: false,
  preview: false,
  list_users: false,
  get_user: false,
  get_credential: false,
  reinstate_user: true,
  erase_user: true,
  cut_off_issuer: true,
  cut_off_site: true,
  issue_credential: true,
  create_offer: true,
  snapshot: false,
  feed: false,
  propagation_receipt: false,
  propagation_stats: false,
  list_log_entries: false,
  read_summary: false,
  read_head: false,
  create_site: true,
  list_sites: false,
  read_site: false,
  change_site: true,
  add_issuer: true,
  list_issuers: false,
  get_issuer: false,
  change_issuer: true,
  change_issuer_key: true,
  create_key: true,
  list_keys: false,
  change_key: true,
  delete_key: true,
  create_webhook: true,
  list_webhooks: false,
  delete_webhook: true,
  rotate_webhook_secret: true,
  change_webhook: true,
  recover_webhook: true,
  test_webhook: false,
  list_deliveries: false,
  list_site_deliveries: false,
  read_delivery: false,
  replay_delivery: false,
  list_credentials: false,
  list_tokens: false,
  list_verifiers: false,
  read_verifier: false,
  dismiss_verifier: true,
  list_audit: false,
  list_service_audit: false,
  list_receipts: false,
  read_receipt: false,
  start_drill: true,
  list_drills: false,
  read_drill: false,
  list_nodes: false,
  create_operator_key: true,
  list_operator_keys: false,
  change_operator_key: true,
  delete_operator_key: true,
  create_person: true,
  list_people: false,
  change_person: true,
  create_console_link: true,
})

/**
 * Endpoints about sessions that need a recent sign-in too: they add a way to sign in, or remove
 * one, which would lock the person out.
 */
export const stepUpOfSessions: ReadonlySet<EndpointId> = new Set([
  'start_passkey',
  'add_passkey',
  'remove_passkey',
] as const)

/** Whether the endpoint is mounted under `/console/api`. */
export function isConsoleEndpoint(id: EndpointId): id is ConsoleEndpointId {
  return Object.hasOwn(stepUp, id)
}

/**
 * Whether the endpoint needs a recent sign-in of a person. For every caller it is then confirmed in
 * the store that the key or session still exists.
 */
export function needsStepUp(id: EndpointId): boolean {
  return isConsoleEndpoint(id) ? stepUp[id] : stepUpOfSessions.has(id)
}
