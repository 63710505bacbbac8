/**
 * The permissions of an API key. An operator key, which has no site, has all of them for every
 * site.
 */
export const permissions = [
  'tokens:introspect',
  'tokens:revoke',
  'credentials:issue',
  'credentials:revoke',
  'credentials:reinstate',
  'feed:read',
  'site:read',
  'site:admin',
] as const
export type Permission = (typeof permissions)[number]

/**
 * The roles of a person in the console. `operator` is for all sites; each of the others is for one
 * site.
 */
export const consoleRoles = ['viewer', 'responder', 'issuing', 'admin', 'operator'] as const
export type ConsoleRole = (typeof consoleRoles)[number]

/**
 * The permissions that a role has at its site. An operator has all of them at every site. People
 * read the feed as observers only.
 */
export const rolePermissions: Readonly<Record<ConsoleRole, readonly Permission[]>> = Object.freeze({
  viewer: ['site:read', 'feed:read'],
  responder: ['site:read', 'feed:read', 'credentials:revoke', 'tokens:revoke'],
  issuing: ['site:read', 'feed:read', 'credentials:issue'],
  admin: permissions,
  operator: permissions,
})

/** `active` ⇄ `ended`. */
export const personStatuses = ['active', 'ended'] as const
export type PersonStatus = (typeof personStatuses)[number]

/** How a person signed in to the console. */
export const sessionDoors = ['link', 'passkey', 'oidc'] as const

/** What was revoked. */
export const revocationTypes = ['user', 'credential'] as const
export type RevocationType = (typeof revocationTypes)[number]

/**
 * `active` → `revoked` (permanently) or `expired`. `unknown`: this service has never seen the
 * credential, which may still be revoked.
 */
export const credentialStatuses = ['active', 'revoked', 'expired', 'unknown'] as const
export type CredentialStatus = (typeof credentialStatuses)[number]

/** `active` ⇄ `revoked`. After a reinstatement only newer credentials are valid. */
export const userStatuses = ['active', 'revoked'] as const
export type UserStatus = (typeof userStatuses)[number]

/** What a revocation of several targets did to each of them. */
export const revocationOutcomes = ['revoked', 'already_revoked', 'not_found'] as const

/** How the service first saw a credential. */
export const credentialSources = ['issued', 'exchanged', 'presented', 'sign_in'] as const

/** Log entries about a user. */
export const userEntryKinds = ['user.revoked', 'user.reinstated', 'user.signed_out'] as const

/**
 * `active` → `revoked` or `expired`. A token follows its credential, chain, user, issuer and key.
 */
export const tokenStatuses = ['active', 'revoked', 'expired'] as const
export type TokenStatus = (typeof tokenStatuses)[number]

/** `trusted` ⇄ `distrusted`. */
export const issuerStatuses = ['trusted', 'distrusted'] as const
export type IssuerStatus = (typeof issuerStatuses)[number]

/** `active` ⇄ `retired`; either → `compromised`, permanently. */
export const issuerKeyStatuses = ['active', 'retired', 'compromised'] as const
export type IssuerKeyStatus = (typeof issuerKeyStatuses)[number]

/** Where the keys of an OAuth issuer come from: its administrator, a URL, or its metadata. */
export const keySources = ['jwks', 'jwks_uri', 'discovery'] as const
export type KeySource = (typeof keySources)[number]

/** What an identity provider reports about its users and sessions. */
export const signalTypes = ['backchannel_logout', 'token_revocation', 'events'] as const
export type SignalType = (typeof signalTypes)[number]
export const signalSubjects = ['sub', 'email_is_user_ref'] as const

/** `open` → `presented` → `consumed`; `expired` and `cancelled` end it early. */
export const signInStates = ['open', 'presented', 'consumed', 'expired', 'cancelled'] as const
export type SignInState = (typeof signInStates)[number]

/** `live` → `used` or `expired`. */
export const signInCodeStates = ['live', 'used', 'expired'] as const
export type SignInCodeState = (typeof signInCodeStates)[number]

/** `pending` → `delivered` or `failed`; a failed one can be replayed by hand. */
export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** `on` ⇄ `paused` by hand; `on` → `disabled` by the service, and back by hand. */
export const webhookStatuses = ['on', 'paused', 'disabled'] as const
export type WebhookStatus = (typeof webhookStatuses)[number]

/**
 * The state of a verifier in a receipt. `waiting`: it has not acknowledged the entry yet. `silent`:
 * it is connected but has not acknowledged anything for 15 seconds. `not_connected`: it has no
 * stream, and rejects everything when its lease has ended.
 */
export const verifierStates = ['acknowledged', 'waiting', 'silent', 'not_connected'] as const
export type VerifierState = (typeof verifierStates)[number]

/**
 * Who acts, in the audit. `service`: the service by itself. `anonymous`: a caller without a key.
 */
export const auditActorTypes = [
  'operator',
  'api_key',
  'holder',
  'page',
  'sender',
  'person',
  'service',
  'anonymous',
] as const
/** `unchanged`: there was nothing to do. The last one: the service rejected it. */
export const auditOutcomes = ['done', 'unchanged', 'refused'] as const
export const auditOrders = ['newest', 'oldest'] as const
export const auditFormats = ['json', 'ndjson', 'csv', 'ocsf'] as const

/** `silent`: the node has reported nothing for 30 seconds, so its state is unknown. */
export const nodeStates = ['ready', 'not_ready', 'silent'] as const
export type NodeState = (typeof nodeStates)[number]

/**
 * The state of a verifier in the list. `connected`: it has a stream. `silent`: it has one, and has
 * not acknowledged anything for 15 seconds. `gone`: it has none, and did not close. `retired`: it
 * has closed, or an operator has retired it.
 */
export const rosterStates = ['connected', 'silent', 'gone', 'retired'] as const
export type RosterState = (typeof rosterStates)[number]

/**
 * Why an attempt to deliver has failed. `status`: the receiver did not answer with 2xx.
 * `no_answer`: there was no response; the reason is only in the log of the service.
 * `entry_removed`: the entry is no longer in the log.
 */
export const attemptFailures = ['status', 'no_answer', 'entry_removed'] as const

export const bearerModes = ['on', 'off'] as const
export const holderProofModes = ['optional', 'required'] as const
export const delegationModes = ['on', 'off'] as const
export const presentations = ['credential', 'bearer', 'jwt'] as const

/** The error codes of RFC 8935 §2.4 that this service returns. */
export const securityEventErrors = [
  'invalid_request',
  'invalid_key',
  'invalid_issuer',
  'invalid_audience',
] as const
export type SecurityEventError = (typeof securityEventErrors)[number]
