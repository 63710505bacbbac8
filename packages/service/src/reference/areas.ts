import { type EndpointId, endpointList } from '@countersign/core/contract'

export type ListedEndpoint = (typeof endpointList)[number]

/** A group of endpoints that belong together. */
export interface Area {
  readonly id: string
  readonly title: string
  readonly text: string
  readonly endpoints: readonly ListedEndpoint[]
}

/** Each endpoint belongs to the first area whose pattern matches its path. */
const table: readonly (Omit<Area, 'endpoints'> & { readonly paths: RegExp })[] = [
  {
    id: 'revocation',
    title: 'Revocation',
    text: 'End the access of users, credentials, keys and issuers, and give it back to users.',
    paths:
      /^\/api\/wallet\/(?:revoke|revoke-user|reinstate-user|sign-out-user)$|\/(?:revoke-holder|cut-off-issuer|cut-off|revocations|preview)$/,
  },
  {
    id: 'credentials',
    title: 'Credentials',
    text: 'Issue credentials, offer them to people, and look up their status.',
    paths: /^\/api\/wallet\/|\/credentials(?:\/|$)/,
  },
  {
    id: 'tokens',
    title: 'Tokens',
    text: 'Exchange credentials for bearer tokens, and introspect, list and revoke them.',
    paths: /^\/api\/auth\/(?:exchange-proof|introspect|revoke)$|\/tokens(?:\/|$)/,
  },
  {
    id: 'protected-routes',
    title: 'Protected routes',
    text: 'The reference route behind a guard, and the check that a reverse proxy asks for.',
    paths: /^\/api\/(?:protected|auth)\//,
  },
  {
    id: 'users',
    title: 'Users',
    text: 'Find users and their history, and erase their data.',
    paths: /\/users(?:\/|$)/,
  },
  {
    id: 'sign-in',
    title: 'Sign-in and wallet',
    text: 'Sign people in with the credential in their browser, on pages of the service.',
    paths: /^\/(?:auth|wallet)(?:\/|$)/,
  },
  {
    id: 'feed',
    title: 'Feed and log',
    text: 'What guards follow: snapshots, the stream of log entries, signed heads, and the guards themselves.',
    paths: /\/(?:snapshot|feed|log|head|verifiers)(?:\/|$)/,
  },
  {
    id: 'receipts',
    title: 'Receipts and drills',
    text: 'Proof of when each guard applied a revocation, and rehearsals of one.',
    paths: /\/(?:receipts|propagation|drills)(?:\/|$)/,
  },
  {
    id: 'sites',
    title: 'Sites',
    text: 'Create and change sites, and see what happens at them.',
    paths: /^\/api\/sites(?:\/\{site_id\}(?:\/summary)?)?$/,
  },
  {
    id: 'issuers',
    title: 'Issuers',
    text: 'Decide whose credentials and access tokens a site accepts.',
    paths: /\/issuers(?:\/|$)/,
  },
  {
    id: 'signals',
    title: 'Signals',
    text: 'Logouts, revocations and security events that identity providers send.',
    paths: /\/signals\//,
  },
  {
    id: 'api-keys',
    title: 'API keys',
    text: 'Keys of sites and of operators.',
    paths: /\/(?:operator-)?keys(?:\/|$)/,
  },
  {
    id: 'webhooks',
    title: 'Webhooks',
    text: 'Receive log entries as signed requests, and repair deliveries that failed.',
    paths: /\/(?:webhooks|deliveries)(?:\/|$)/,
  },
  {
    id: 'audit',
    title: 'Audit',
    text: 'Who did what, when and why.',
    paths: /\/audit$/,
  },
  {
    id: 'people',
    title: 'People',
    text: 'Who may use the console, and with which role.',
    paths: /^\/api\/people(?:\/|$)/,
  },
  {
    id: 'console',
    title: 'Console sessions',
    text: 'What the pages of the console call to sign people in. Programs do not need them.',
    paths: /^\/console\//,
  },
  {
    id: 'service',
    title: 'Service',
    text: 'Keys, limits, documentation, health and nodes of the service.',
    paths: /^/,
  },
]

const findAreaId = (path: string) => table.find(({ paths }) => paths.test(path))?.id

/** All areas of the interface with their endpoints, in reading order. */
export const areas: readonly Area[] = table.map(({ id, title, text }) => ({
  id,
  title,
  text,
  endpoints: endpointList.filter(({ path }) => findAreaId(path) === id),
}))

/** The list of all endpoints. */
export const REFERENCE_URL = '/docs/api'

/** The address of the page of an endpoint. */
export function toEndpointUrl(id: EndpointId): string {
  return `${REFERENCE_URL}/${id.replaceAll('_', '-')}`
}
