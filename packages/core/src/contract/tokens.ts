import * as z from 'zod'
import { INTROSPECTION_NONCE_PATTERN, isIntrospectionNonce } from '../log/signed-introspection.ts'
import { presentedCredentialSchema } from './access-credential.ts'
import { endpoint } from './endpoint.ts'
import {
  chainMembers,
  credentialId,
  epoch,
  feedCursor,
  feedKid,
  feedSignature,
  issuerKeyId,
  madeId,
  permissionId,
  ppid,
  reason,
  scope,
  scopeList,
  seq,
  sha256Hex,
  siteId,
  someScopes,
  thumbprint,
  time,
  ttlSeconds,
} from './fields.ts'
import { idempotencyHeaders, preferenceHeaders, preferHeaders, proxyHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { oauthTokenSchema } from './protected-action.ts'
import { propagationSchema } from './revocation.ts'

export const ACCESS_TOKEN_PATTERN = '^svc_at_[0-9A-Za-z]{49}$'
export const API_KEY_PATTERN = '^svc_sk_[0-9A-Za-z]{49}$'

export const exchangeProofRequestSchema = z.strictObject({
  credential: presentedCredentialSchema,
  site_id: siteId
    .optional()
    .meta({ description: 'Default: the site of the credential. Another one is site_mismatch.' }),
  requested_scope: someScopes
    .optional()
    .meta({ description: 'A part of the scope of the credential. Default: all of it.' }),
  ttl_seconds: ttlSeconds(
    limits.token_ttl_seconds_min,
    limits.token_ttl_seconds_max,
    limits.token_ttl_seconds_default,
  ).optional(),
})
export type ExchangeProofRequest = z.input<typeof exchangeProofRequestSchema>

export const accessTokenSchema = z
  .strictObject({
    access_token: z.string().regex(new RegExp(ACCESS_TOKEN_PATTERN)),
    token_type: z.literal('Bearer'),
    expires_in: z
      .int()
      .min(0)
      .max(limits.token_ttl_seconds_max)
      .meta({ description: 'In seconds. A token never outlives its credential.' }),
    site_id: siteId,
    scope: scopeList,
    permission_id: permissionId,
  })
  .meta({ id: 'AccessToken' })
export type AccessToken = z.input<typeof accessTokenSchema>

/**
 * Any text, because a malformed token is simply not active. A parameter without a value is treated
 * as absent (RFC 6749 §3.1).
 */
const token = z.string().min(1).meta({ description: 'The token. A malformed token is treated as unknown.' })
const tokenTypeHint = z.string().optional().meta({ description: 'Accepted for OAuth clients and ignored.' })

const nonce = z
  .string()
  .refine(isIntrospectionNonce, 'must be 128 random bits in base64url: 22 characters')
  .meta({
    pattern: INTROSPECTION_NONCE_PATTERN,
    description:
      'Requests a signed response: 128 random bits in base64url, new for each request. Guards send it; it is optional for other OAuth clients. ' +
      'An operator key must send site_id as well.',
    examples: ['q83vEjRWeJCrze8SNFZ4kA'],
  })
/** How OAuth clients authenticate in a form (RFC 6749 §2.3.1). */
const clientMembers = {
  client_id: z.string().optional().meta({ description: 'The key_id of an API key, with client_secret.' }),
  client_secret: z.string().optional().meta({
    description:
      'The API key. Send it in the form only if the client can send neither X-API-Key nor HTTP Basic.',
  }),
}
const introspectMembers = {
  token,
  token_type_hint: tokenTypeHint,
  site_id: siteId.optional(),
  nonce: nonce.optional(),
}
export const introspectRequestSchema = z.strictObject(introspectMembers)
export type IntrospectRequest = z.input<typeof introspectRequestSchema>

/**
 * Signed over `"countersign-introspection\n"` and the canonical JSON of all other members, with the
 * rest of the response as `facts`.
 */
export const introspectionProofSchema = z
  .strictObject({
    nonce: nonce.meta({ description: 'The nonce of the request.' }),
    site_id: siteId,
    token_sha256: sha256Hex.meta({ description: 'SHA-256 of the token in the request.' }),
    head: z
      .strictObject({ epoch, seq, hash: sha256Hex })
      .meta({ description: 'The head of the log that the response is based on.' }),
    as_of: time.meta({ description: 'A time before that head was read from the store.' }),
    kid: feedKid,
    signature: feedSignature.meta({
      description:
        'Ed25519, base64url, over "countersign-introspection\\n" and the canonical JSON of { nonce, site_id, token_sha256, facts, head, as_of, kid }, ' +
        'where facts are all members of the response except proof.',
    }),
  })
  .meta({ id: 'IntrospectionProof' })
const proof = introspectionProofSchema
  .optional()
  .meta({ description: 'Present only if the request has a nonce.' })

const seconds = z.int().min(0).meta({ description: 'Seconds since 1970.' })

export const activeTokenSchema = z.strictObject({
  active: z.literal(true),
  scope: z.string().meta({ description: 'The scopes, separated by spaces.' }),
  scopes: scopeList,
  client_id: siteId,
  token_type: z
    .enum(['Bearer', 'DPoP'])
    .meta({ description: 'DPoP: each request needs a DPoP proof (RFC 9449).' }),
  exp: seconds,
  iat: seconds,
  nbf: seconds,
  sub: ppid,
  aud: siteId,
  iss: z.string().meta({ format: 'uri' }),
  jti: madeId.meta({
    description: 'The id of the token here. Of an access token of an OAuth issuer, its credential_id.',
  }),
  site_id: siteId,
  permission_id: permissionId,
  credential_id: credentialId,
  ...chainMembers,
  issuer: z.string().meta({ description: 'The DID that signed the root.' }),
  issuer_key: issuerKeyId,
  root_created_at: time.meta({
    description:
      'When the root of the chain was signed. If its key was retired earlier, the token is not active.',
  }),
  oldest_created_at: time.meta({
    description:
      'When the oldest credential of the chain was signed. A user reinstated later needs a new credential.',
  }),
  token: oauthTokenSchema.optional().meta({
    description:
      'Only for an access token of an OAuth issuer. The other members have the names that the service uses.',
  }),
  cnf: z
    .strictObject({ jkt: thumbprint })
    .optional()
    .meta({ description: 'The key that the token is bound to (RFC 9449 §6.2).' }),
  proof,
})
export const inactiveTokenSchema = z.strictObject({ active: z.literal(false), proof })

export const introspectionSchema = z
  .discriminatedUnion('active', [activeTokenSchema, inactiveTokenSchema])
  .meta({ id: 'Introspection' })
export type Introspection = z.input<typeof introspectionSchema>

const revokeTokenMembers = { token, token_type_hint: tokenTypeHint, reason: reason.optional() }
export const revokeTokenRequestSchema = z.strictObject(revokeTokenMembers)
export type RevokeTokenRequest = z.input<typeof revokeTokenRequestSchema>

export const tokenRevokedSchema = z
  .strictObject({
    success: z.literal(true),
    revoked: z.boolean().meta({
      description:
        'False if there was nothing to revoke: the token is unknown, of another site, expired or already revoked.',
    }),
    propagation: propagationSchema
      .optional()
      .meta({ description: 'Only with Prefer: wait, if a token was revoked.' }),
  })
  .meta({ id: 'TokenRevoked' })
export type TokenRevoked = z.input<typeof tokenRevokedSchema>

export const forwardAuthQuerySchema = z.strictObject({
  scope: z
    .array(scope)
    .max(limits.scope_list_max)
    .default([])
    .meta({ description: 'Can be repeated; all are required. Default: any valid credential is accepted.' }),
  min_seq: feedCursor
    .optional()
    .meta({ description: 'Returns 503 unless the view has reached this position.' }),
})

const CLIENTS =
  'OAuth clients authenticate with the key_id of an API key as client_id and the key as client_secret, with HTTP Basic or in the form. ' +
  'A request that authenticates in two ways is auth_ambiguous.'

export const tokenEndpoints = {
  exchange_proof: endpoint({
    method: 'POST',
    path: '/api/auth/exchange-proof',
    summary: 'Exchange a credential for a short-lived bearer token',
    description:
      'For runtimes that cannot send the credential header. JSON faults inside the member credential, and a member that is not an object, are ' +
      'credential_malformed; JSON faults elsewhere are request_malformed. A holder-bound credential needs its holder proof here too.',
    tag: 'tokens',
    auth: 'credential_in_body',
    rateLimit: 'caller',
    idempotency: 'secret',
    request: { body: exchangeProofRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 200: { description: 'The token.', body: accessTokenSchema } },
    problems: ['ttl_out_of_range', 'bearer_disabled', 'site_unknown', 'store_unavailable'],
    noStore: true,
  }),
  introspect: endpoint({
    method: 'POST',
    path: '/api/auth/introspect',
    summary: 'Introspect a token (RFC 7662)',
    description:
      'Unknown members of a JSON body are rejected; unknown form parameters are ignored, because OAuth clients send some. ' +
      'With a nonce, the response has a proof: the feed key signs nonce, site, token hash, facts and head, so that a guard need not trust the network. ' +
      'Without a nonce, the response is that of RFC 7662. ' +
      'Access tokens of OAuth issuers are accepted too; an operator key must send site_id with them. ' +
      CLIENTS,
    tag: 'tokens',
    auth: 'oauth_client',
    permissions: ['tokens:introspect'],
    rateLimit: 'caller',
    request: { body: introspectRequestSchema, form: z.object({ ...introspectMembers, ...clientMembers }) },
    answers: {
      200: {
        description: 'The facts about the token, or only active: false.',
        body: introspectionSchema,
      },
    },
    problems: ['revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
  revoke_token: endpoint({
    method: 'POST',
    path: '/api/auth/revoke',
    summary: 'Revoke a token (RFC 7009)',
    description:
      'Unknown members of a JSON body are rejected; unknown form parameters are ignored, because OAuth clients send some. ' +
      'An access token of an OAuth issuer is revoked by its jti, if an issuer that the site trusts has signed it and it has not expired. ' +
      CLIENTS,
    tag: 'tokens',
    auth: 'oauth_client',
    permissions: ['tokens:revoke'],
    rateLimit: 'caller',
    idempotency: 'replayed',
    revokes: true,
    request: {
      body: revokeTokenRequestSchema,
      form: z.object({ ...revokeTokenMembers, ...clientMembers }),
      headers: z.object({ ...idempotencyHeaders, ...preferHeaders }),
    },
    answers: {
      200: {
        description: 'Revoked, or there was nothing to revoke.',
        body: tokenRevokedSchema,
        headers: preferenceHeaders,
      },
    },
    problems: ['store_unavailable'],
    noStore: true,
  }),
  forward_auth: endpoint({
    method: 'GET',
    path: '/api/auth/verify',
    summary: 'Forward-auth for reverse proxies',
    description:
      'The proxy sends its own API key, which determines the site, with the credential or token of its caller and the original method, host and URI. ' +
      'Proxies accept only 401 and 403 as denials, so every other 4xx becomes 401. 429 and 5xx do not change.',
    tag: 'protected',
    auth: 'api_key_and_credential',
    permissions: ['tokens:introspect'],
    rateLimit: 'failed_presentation',
    request: { query: forwardAuthQuerySchema, queryLists: ['scope'], headers: z.object(proxyHeaders) },
    answers: {
      200: {
        description: 'The request is accepted.',
        headers: {
          'X-Service-Subject': 'The ppid.',
          'X-Service-Site': 'The site_id.',
          'X-Service-Scope': 'The scopes, separated by spaces.',
          'X-Service-Credential-Id': 'The credential_id.',
          'X-Service-Issuer':
            'Only for an access token of an OAuth issuer: its iss. Percent-encoded like X-Service-Token-Subject.',
          'X-Service-Token-Subject':
            'Only for an access token of an OAuth issuer: the user as the issuer calls it, in UTF-8 with percent-encoding; decodeURIComponent reads it.',
          'X-Service-Body':
            'unchecked: the holder proof covers the digest of the body, which this endpoint cannot see.',
        },
      },
    },
    problems: ['cursor_malformed', 'store_unavailable'],
    noStore: true,
    errorFormat: 'proxy',
  }),
}
