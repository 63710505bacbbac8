import * as z from 'zod'
import { administration, reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import {
  credentialId,
  issuerKeyId,
  issuerName,
  madeId,
  permissionId,
  ppid,
  scopeList,
  seq,
  sha256Hex,
  time,
} from './fields.ts'
import { idempotencyHeaders, reasonHeaders, verifierName } from './headers.ts'
import { page, pageParameters } from './paging.ts'
import {
  credentialSources,
  credentialStatuses,
  revocationTypes,
  rosterStates,
  tokenStatuses,
} from './vocabulary.ts'

/** Listed credentials are never `unknown`. */
const knownStatuses = credentialStatuses.filter((status) => status !== 'unknown')

export const knownCredentialSchema = z
  .strictObject({
    credential_id: credentialId,
    ppid,
    issuer: z.string(),
    scope: scopeList,
    permission_id: permissionId,
    status: z.enum(knownStatuses),
    holder_bound: z.boolean(),
    valid_from: time,
    expires_at: time,
    first_seen_at: time,
    revoked_at: time.nullable(),
    revocation_type: z.enum(revocationTypes).nullable(),
    reason: z.string().nullable(),
  })
  .meta({ id: 'KnownCredential' })
export type KnownCredential = z.input<typeof knownCredentialSchema>

export const issuedTokenSchema = z
  .strictObject({
    token_id: madeId.meta({
      description: 'jti in the introspection. The token itself is never shown again.',
    }),
    ppid,
    credential_id: credentialId,
    scope: scopeList,
    permission_id: permissionId,
    status: z.enum(tokenStatuses),
    issued_at: time,
    expires_at: time,
    revoked_at: time.nullable(),
  })
  .meta({ id: 'IssuedToken' })
export type IssuedToken = z.input<typeof issuedTokenSchema>

export const verifierSchema = z
  .strictObject({
    verifier_id: z.string(),
    instance_id: z.string().nullable().meta({ description: 'Null for a reader that declares no instance.' }),
    key_id: madeId.meta({ description: 'The API key that it uses.' }),
    state: z.enum(rosterStates).meta({
      description:
        'silent: it has not acknowledged anything for 15 seconds. gone: it has no stream and did not close. retired: it has closed, or an operator has retired it.',
    }),
    expected: z.boolean().meta({
      description:
        'Whether receipts expect it: it may still accept requests, or it has a configured name and disappeared within the last 24 hours.',
    }),
    node_id: z.string().nullable().meta({ description: 'The node of its last stream.' }),
    version: z.string().nullable().meta({ description: 'The version of its software, if it declared one.' }),
    max_staleness_seconds: z.int().nullable().meta({ description: 'The bound that it declared.' }),
    fails_open: z.boolean(),
    first_seen_at: time,
    connected_at: time.meta({ description: 'If it is not connected: the time of its last stream.' }),
    seq: seq.meta({ description: 'The last applied position.' }),
    lag: z.int().min(0).meta({ description: 'The number of entries behind the head.' }),
    acknowledged_at: time.nullable().meta({ description: 'When it last acknowledged anything.' }),
    rejects_everything_since: time.nullable().meta({
      description:
        'From when on it certainly rejects every request, for lack of fresh data or because it has closed. Can be up to its bound and 10 seconds ahead. Null while it is connected, and if it fails open.',
    }),
    retired_at: time.nullable(),
    retired_by: z.enum(['verifier', 'operator']).nullable(),
    clock_difference_ms: z.int().optional().meta({
      description:
        'The clock of the answering node minus that of the verifier, if the verifier has recently acknowledged to this node.',
    }),
  })
  .meta({ id: 'Verifier' })
export type Verifier = z.input<typeof verifierSchema>

export const credentialPageSchema = page(knownCredentialSchema).meta({ id: 'CredentialPage' })
export type CredentialPage = z.input<typeof credentialPageSchema>
export const tokenPageSchema = page(issuedTokenSchema).meta({ id: 'TokenPage' })
export type TokenPage = z.input<typeof tokenPageSchema>
export const verifierPageSchema = page(verifierSchema).meta({ id: 'VerifierPage' })
export type VerifierPage = z.input<typeof verifierPageSchema>

export const verifierListQuerySchema = z.strictObject({
  ...pageParameters,
  state: z.enum(rosterStates).optional(),
})
export const credentialListQuerySchema = z
  .strictObject({
    ...pageParameters,
    ppid: ppid.optional(),
    status: z.enum(knownStatuses).optional(),
    issuer: issuerName.optional().meta({ description: 'Only with status, and without ppid.' }),
    issuer_key: issuerKeyId.optional().meta({
      description: 'A key of the issuer. Credentials that were seen before keys were recorded are not found.',
    }),
    source: z
      .enum(credentialSources)
      .optional()
      .meta({ description: 'How the service first saw the credential. Only with status.' }),
    expires_before: time
      .optional()
      .meta({ description: 'Only credentials that expire before this time, the first to expire first.' }),
  })
  .refine(({ issuer, ppid: user }) => issuer === undefined || user === undefined, {
    path: ['issuer'],
    message: 'cannot be combined with ppid',
  })
  .refine(({ issuer, status }) => issuer === undefined || status !== undefined, {
    path: ['status'],
    message: 'is needed with issuer',
  })
  .refine(({ issuer, issuer_key }) => issuer_key === undefined || issuer !== undefined, {
    path: ['issuer'],
    message: 'is needed with issuer_key',
  })
  .refine(({ source, status }) => source === undefined || status !== undefined, {
    path: ['status'],
    message: 'is needed with source',
  })
  .meta({ dependentRequired: { issuer: ['status'], issuer_key: ['issuer'], source: ['status'] } })
export const tokenListQuerySchema = z.strictObject({
  ...pageParameters,
  ppid: ppid.optional(),
  token_sha256: sha256Hex
    .optional()
    .meta({ description: 'SHA-256 of a token in hex: finds a token without sending it.' }),
})

const params = z.strictObject(siteParams)
const verifierParams = z.strictObject({ ...siteParams, instance_id: verifierName })
const list = {
  ...reading,
  method: 'GET',
  problems: ['cursor_malformed', 'store_unavailable'],
} as const

export const siteListEndpoints = {
  list_credentials: endpoint({
    ...list,
    path: '/api/sites/{site_id}/credentials',
    summary: 'List known credentials',
    description:
      'Newest first; with expires_before, the first to expire first. A page can have fewer items than requested although next_cursor is not null: with source and another filter besides status, with expires_before and another filter, and with status while the service applies a cut-off to very many credentials.',
    request: { params, query: credentialListQuerySchema },
    answers: { 200: { description: 'A page of credentials.', body: credentialPageSchema } },
  }),
  list_tokens: endpoint({
    ...list,
    path: '/api/sites/{site_id}/tokens',
    summary: 'List issued tokens',
    request: { params, query: tokenListQuerySchema },
    answers: { 200: { description: 'A page of tokens, without their secrets.', body: tokenPageSchema } },
  }),
  list_verifiers: endpoint({
    ...list,
    path: '/api/sites/{site_id}/verifiers',
    summary: 'List verifiers',
    description:
      'Without state: those that are connected, and those that receipts still expect. With state gone or retired: all of the last 30 days. At most about 100 ms old.',
    request: { params, query: verifierListQuerySchema },
    answers: {
      200: { description: 'A page of verifiers.', body: verifierPageSchema },
    },
  }),
  read_verifier: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/verifiers/{instance_id}',
    summary: 'Get a verifier',
    description: 'An instance that is connected or was connected within the last 30 days.',
    request: { params: verifierParams },
    answers: { 200: { description: 'The verifier.', body: verifierSchema } },
    problems: ['store_unavailable'],
  }),
  dismiss_verifier: endpoint({
    ...administration,
    method: 'DELETE',
    path: '/api/sites/{site_id}/verifiers/{instance_id}',
    summary: 'Retire a verifier that has disappeared',
    description:
      'Receipts no longer expect it. A verifier that is connected, or whose revocation data is still fresh, is verifier_active. Retire one that fails open only after its process has ended: the service cannot check that, and receipts have no denied_everywhere_at until then. A verifier that reconnects is counted again.',
    idempotency: 'replayed',
    request: {
      params: verifierParams,
      headers: z.object({ ...idempotencyHeaders, ...reasonHeaders }),
    },
    answers: { 204: { description: 'Retired.' } },
    problems: ['verifier_active', 'store_unavailable'],
  }),
}
