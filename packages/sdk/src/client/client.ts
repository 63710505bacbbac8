import type { EndpointId, endpoints } from '@countersign/core/contract'
import { requireOptions } from '../shared/require-options.ts'
import { type CallInput, type CallOptions, type CallRow, call } from './call.ts'
import { type ClientOptions, CONNECTION_KINDS, readConnection } from './connection.ts'

export type { ClientOptions } from './connection.ts'
export { type AuditExport, exportAudit } from './export-audit.ts'

/**
 * One method for each endpoint that a program calls: its first argument has the members of path,
 * query and body together.
 */
export type Client = {
  readonly [Name in CallName]: (
    ...args: object extends Input<Name>
      ? [input?: Input<Name>, options?: CallOptions]
      : [input: Input<Name>, options?: CallOptions]
  ) => Promise<Answer<Name>>
}

/**
 * Creates a client of one service, without a call. Its methods throw a `CountersignError` when
 * the service rejects a call or cannot be reached. Throws a TypeError for an invalid address or
 * key; its message does not repeat the key.
 */
export function createClient(options: ClientOptions): Client {
  requireOptions<ClientOptions>('createClient', options, { ...CONNECTION_KINDS, apiKey: 'string' })
  const connection = readConnection(options)
  const methods = Object.entries(calls).map(([name, row]) => [
    name,
    (input?: CallInput, callOptions?: CallOptions) => call(connection, row, input, callOptions),
  ])
  const client = Object.fromEntries(methods) as Client
  // Keeps logs readable. The key is in a closure and would not be shown anyway.
  return Object.freeze(
    Object.defineProperty(client, Symbol.for('nodejs.util.inspect.custom'), {
      value: () => `Client { ${connection.baseUrl} }`,
    }),
  )
}

/**
 * Every item of a paged list, page after page: `for await (const key of allItems(client.listKeys, {
 * site_id }))`. Throws what the call throws, and an Error if the service returns a page twice.
 */
export async function* allItems<Input extends object, Item>(
  list: (
    input: Input & { cursor?: string },
  ) => Promise<{ readonly items: readonly Item[]; readonly next_cursor: string | null }>,
  input: Input,
): AsyncGenerator<Item, void, undefined> {
  let page = await list(input)
  const seen = new Set<string>()
  for (;;) {
    yield* page.items
    const { next_cursor: cursor } = page
    if (cursor === null) return
    if (seen.has(cursor)) throw new Error('The service returned the same page of the list twice.')
    seen.add(cursor)
    page = await list({ ...input, cursor })
  }
}

/**
 * By default a GET is safe to repeat, any other call has an Idempotency-Key, and a POST or a PATCH
 * has a body.
 */
function row(
  method: CallRow['method'],
  path: string,
  {
    repeat = method === 'GET' ? 'safe' : 'keyed',
    key = true,
    wait = false,
    body = method === 'POST' || method === 'PATCH',
  }: Partial<CallRow> = {},
): CallRow {
  return { method, path, repeat, key, wait, body }
}

/**
 * The endpoints that a program calls, by their ids in camel case. A test keeps them equal to the
 * contract.
 */
export const calls = {
  exchangeProof: row('POST', '/api/auth/exchange-proof', { repeat: 'secret', key: false }),
  introspect: row('POST', '/api/auth/introspect', { repeat: 'safe' }),
  revokeToken: row('POST', '/api/auth/revoke', { wait: true }),
  revokeTokenById: row('POST', '/api/sites/{site_id}/tokens/{token_id}/revoke', { wait: true }),
  preview: row('POST', '/api/sites/{site_id}/preview', { repeat: 'safe' }),
  revokeTargets: row('POST', '/api/sites/{site_id}/revocations', { wait: true }),
  revokeUser: row('POST', '/api/wallet/revoke-user', { wait: true }),
  revokeCredential: row('POST', '/api/wallet/revoke', { wait: true }),
  reinstateUser: row('POST', '/api/wallet/reinstate-user'),
  signOutUser: row('POST', '/api/wallet/sign-out-user', { wait: true }),
  listUsers: row('GET', '/api/sites/{site_id}/users'),
  getUser: row('GET', '/api/sites/{site_id}/users/{ppid}'),
  resolveUser: row('POST', '/api/sites/{site_id}/users/resolve', { repeat: 'safe' }),
  eraseUser: row('POST', '/api/sites/{site_id}/users/erase'),
  revokeHolder: row('POST', '/api/sites/{site_id}/revoke-holder', { wait: true }),
  cutOffIssuer: row('POST', '/api/sites/{site_id}/cut-off-issuer', { wait: true }),
  cutOffSite: row('POST', '/api/sites/{site_id}/cut-off', { wait: true }),
  revocationStatus: row('GET', '/api/wallet/revocation-status'),
  issueCredential: row('POST', '/api/wallet/credentials'),
  createOffer: row('POST', '/api/wallet/offers', { repeat: 'secret' }),
  startSignIn: row('POST', '/auth/sdk-request', { repeat: 'safe', key: false }),
  signInResult: row('POST', '/auth/sdk-result', { repeat: 'once', key: false }),
  propagationReceipt: row('GET', '/api/sites/{site_id}/propagation'),
  listLogEntries: row('GET', '/api/sites/{site_id}/log'),
  readHead: row('GET', '/api/sites/{site_id}/head'),
  readSummary: row('GET', '/api/sites/{site_id}/summary'),
  createSite: row('POST', '/api/sites'),
  listSites: row('GET', '/api/sites'),
  readSite: row('GET', '/api/sites/{site_id}'),
  changeSite: row('PATCH', '/api/sites/{site_id}', { wait: true }),
  addIssuer: row('POST', '/api/sites/{site_id}/issuers'),
  listIssuers: row('GET', '/api/sites/{site_id}/issuers'),
  getIssuer: row('GET', '/api/sites/{site_id}/issuers/{issuer}'),
  changeIssuer: row('PATCH', '/api/sites/{site_id}/issuers/{issuer}', { wait: true }),
  changeIssuerKey: row('PATCH', '/api/sites/{site_id}/issuers/{issuer}/keys/{key}', { wait: true }),
  createKey: row('POST', '/api/sites/{site_id}/keys', { repeat: 'secret' }),
  listKeys: row('GET', '/api/sites/{site_id}/keys'),
  changeKey: row('PATCH', '/api/sites/{site_id}/keys/{key_id}'),
  deleteKey: row('DELETE', '/api/sites/{site_id}/keys/{key_id}'),
  createOperatorKey: row('POST', '/api/service/operator-keys', { repeat: 'secret' }),
  listOperatorKeys: row('GET', '/api/service/operator-keys'),
  changeOperatorKey: row('PATCH', '/api/service/operator-keys/{key_id}'),
  deleteOperatorKey: row('DELETE', '/api/service/operator-keys/{key_id}'),
  listNodes: row('GET', '/api/service/nodes'),
  createWebhook: row('POST', '/api/sites/{site_id}/webhooks', { repeat: 'secret' }),
  listWebhooks: row('GET', '/api/sites/{site_id}/webhooks'),
  deleteWebhook: row('DELETE', '/api/sites/{site_id}/webhooks/{webhook_id}'),
  rotateWebhookSecret: row('POST', '/api/sites/{site_id}/webhooks/{webhook_id}/rotate-secret', {
    repeat: 'secret',
    body: false,
  }),
  listDeliveries: row('GET', '/api/sites/{site_id}/webhooks/{webhook_id}/deliveries'),
  changeWebhook: row('PATCH', '/api/sites/{site_id}/webhooks/{webhook_id}'),
  recoverWebhook: row('POST', '/api/sites/{site_id}/webhooks/{webhook_id}/recover'),
  testWebhook: row('POST', '/api/sites/{site_id}/webhooks/{webhook_id}/test', { body: false }),
  listSiteDeliveries: row('GET', '/api/sites/{site_id}/deliveries'),
  readDelivery: row('GET', '/api/sites/{site_id}/deliveries/{delivery_id}'),
  replayDelivery: row('POST', '/api/sites/{site_id}/deliveries/{delivery_id}/replay', { body: false }),
  listCredentials: row('GET', '/api/sites/{site_id}/credentials'),
  getCredential: row('GET', '/api/sites/{site_id}/credentials/{credential_id}'),
  listTokens: row('GET', '/api/sites/{site_id}/tokens'),
  listAudit: row('GET', '/api/sites/{site_id}/audit'),
  listServiceAudit: row('GET', '/api/audit'),
  listVerifiers: row('GET', '/api/sites/{site_id}/verifiers'),
  readVerifier: row('GET', '/api/sites/{site_id}/verifiers/{instance_id}'),
  dismissVerifier: row('DELETE', '/api/sites/{site_id}/verifiers/{instance_id}'),
  createPerson: row('POST', '/api/people'),
  listPeople: row('GET', '/api/people'),
  changePerson: row('PATCH', '/api/people/{person_id}'),
  createConsoleLink: row('POST', '/api/people/{person_id}/links', { repeat: 'secret', body: false }),
  listReceipts: row('GET', '/api/sites/{site_id}/receipts'),
  readReceipt: row('GET', '/api/sites/{site_id}/receipts/{seq}'),
  propagationStats: row('GET', '/api/sites/{site_id}/propagation/stats'),
  startDrill: row('POST', '/api/sites/{site_id}/drills'),
  listDrills: row('GET', '/api/sites/{site_id}/drills'),
  readDrill: row('GET', '/api/sites/{site_id}/drills/{drill_id}'),
  discovery: row('GET', '/.well-known/countersign', { key: false }),
} as const satisfies Record<string, CallRow>

type CallName = keyof typeof calls
type Contract = typeof endpoints
type Camel<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Text
type Endpoint<Name extends CallName> = { [Id in EndpointId as Camel<Id>]: Id }[Name]

type WireInput<Schema> = Schema extends { readonly _zod: { readonly input: infer Input } } ? Input : unknown
type Parsed<Schema> = Schema extends { readonly _zod: { readonly output: infer Output } } ? Output : unknown
type Part<Name extends CallName, Key extends string> = Contract[Endpoint<Name>]['request'] extends {
  readonly [Member in Key]: infer Schema
}
  ? Schema
  : undefined
/**
 * Numbers in a path or a query are text on the wire, but callers pass numbers. A method returns
 * JSON; for other formats of the audit see `exportAudit`.
 */
type TextInput<Input, Output> = {
  [Member in keyof Input as Exclude<Member, 'format' | 'rows'>]: Member extends keyof Output
    ? Exclude<Output[Member], undefined> extends number
      ? number
      : Input[Member]
    : never
}

type Texts<Name extends CallName, Key extends string> =
  Part<Name, Key> extends undefined ? unknown : TextInput<WireInput<Part<Name, Key>>, Parsed<Part<Name, Key>>>

/** A DELETE has no body: its reason is in a header. */
type ReasonInput<Headers> = 'x-reason' extends keyof Headers
  ? { readonly reason?: string | undefined }
  : unknown

type Input<Name extends CallName> = Texts<Name, 'params'> &
  Texts<Name, 'query'> &
  WireInput<Part<Name, 'body'>> &
  ReasonInput<WireInput<Part<Name, 'headers'>>>

type Success<Answers> = Answers extends
  | { readonly 200: infer A }
  | { readonly 201: infer A }
  | { readonly 202: infer A }
  ? A
  : undefined
type Answer<Name extends CallName> =
  Success<Contract[Endpoint<Name>]['answers']> extends { readonly body: infer Schema }
    ? WireInput<Schema>
    : undefined
