import * as z from 'zod'
import { accessCredentialSchema } from './access-credential.ts'
import { shownBrandMembers } from './brand.ts'
import { endpoint } from './endpoint.ts'
import {
  credentialId,
  holderKey,
  isRandom256,
  permissionId,
  ppid,
  RANDOM_256,
  scopeList,
  siteId,
  someScopes,
  time,
  ttlSeconds,
  uiLocales,
  userRef,
} from './fields.ts'
import { idempotencyHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { codedText } from './validation.ts'

const grant = {
  site_id: siteId,
  user_ref: userRef.optional(),
  ppid: ppid.optional(),
  scope: someScopes,
  permission_id: permissionId.optional(),
  ttl_seconds: ttlSeconds(
    limits.credential_lifetime_seconds_min,
    limits.credential_lifetime_seconds_max,
    limits.credential_lifetime_seconds_default,
  ).optional(),
}

const namesOneUser = ({
  user_ref,
  ppid: given,
}: {
  user_ref?: string | undefined
  ppid?: string | undefined
}) => (user_ref === undefined) !== (given === undefined)
const oneUser = { path: ['user_ref'], message: 'must be sent, or ppid, but not both' }
const documentedOneUser = { oneOf: [{ required: ['user_ref'] }, { required: ['ppid'] }] }

export const issueRequestSchema = z
  .strictObject({
    ...grant,
    holder_key: holderKey.optional(),
    delegable: z.boolean().optional().meta({
      description:
        'Whether the holder may delegate a narrower credential to another key. Requires holder_key. Default: false.',
    }),
  })
  .refine(namesOneUser, oneUser)
  .refine(({ delegable, holder_key }) => delegable !== true || holder_key !== undefined, {
    path: ['delegable'],
    message: 'requires holder_key',
  })
  .meta(documentedOneUser)
export type IssueRequest = z.input<typeof issueRequestSchema>

export const issuedCredentialSchema = z
  .strictObject({
    credential: accessCredentialSchema,
    credential_id: credentialId,
    ppid,
    expires_at: time,
    user_revoked: z.literal(true).optional().meta({
      description:
        'Present if the user is revoked at this site, so that every verifier rejects the credential. Reinstate the user, then issue another one.',
    }),
  })
  .meta({ id: 'IssuedCredential' })
export type IssuedCredential = z.input<typeof issuedCredentialSchema>

export const offerRequestSchema = z.strictObject(grant).refine(namesOneUser, oneUser).meta(documentedOneUser)
export type OfferRequest = z.input<typeof offerRequestSchema>

export const offerSchema = z
  .strictObject({
    offer_url: z.string().meta({ format: 'uri' }),
    expires_in: z.literal(limits.offer_seconds),
  })
  .meta({ id: 'Offer' })
export type Offer = z.input<typeof offerSchema>

const offerCode = codedText('code_invalid', isRandom256, 'must be the code of an offer', {
  pattern: RANDOM_256,
  description: 'The code in the link of the offer.',
})

export const offerQuestionSchema = z.strictObject({ offer: offerCode })
export type OfferQuestion = z.input<typeof offerQuestionSchema>

export const offerDetailsSchema = z
  .strictObject({
    site_id: siteId,
    name: z.string().nullable().meta({ description: 'The name of the site.' }),
    scope: scopeList,
    ttl_seconds: z.int().positive().meta({ description: 'The lifetime of the credential after the claim.' }),
    issuer: z.string().meta({ description: 'The DID of the issuer that will sign the credential.' }),
    expires_at: time.meta({ description: 'When the offer expires.' }),
    site_url: z.string().nullable().meta({
      format: 'uri',
      description: 'The origin of the first registered return URL: where the user can continue.',
    }),
    ...shownBrandMembers,
  })
  .meta({ id: 'OfferDetails' })
export type OfferDetails = z.input<typeof offerDetailsSchema>

export const claimRequestSchema = z.strictObject({ offer: offerCode, holder_key: holderKey })
export type ClaimRequest = z.input<typeof claimRequestSchema>

export const claimedCredentialSchema = z
  .strictObject({ credential: accessCredentialSchema })
  .meta({ id: 'ClaimedCredential' })
export type ClaimedCredential = z.input<typeof claimedCredentialSchema>

export const issuingEndpoints = {
  issue_credential: endpoint({
    method: 'POST',
    path: '/api/wallet/credentials',
    summary: 'Issue a credential',
    tag: 'wallet',
    auth: 'api_key',
    permissions: ['credentials:issue'],
    rateLimit: 'caller',
    idempotency: 'replayed',
    request: { body: issueRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 201: { description: 'Issued.', body: issuedCredentialSchema } },
    problems: ['ttl_out_of_range', 'key_rejected', 'site_unknown', 'store_unavailable'],
    noStore: true,
  }),
  create_offer: endpoint({
    method: 'POST',
    path: '/api/wallet/offers',
    summary: 'Create a one-time link to claim a credential in a browser wallet',
    tag: 'wallet',
    auth: 'api_key',
    permissions: ['credentials:issue'],
    rateLimit: 'caller',
    idempotency: 'secret',
    request: { body: offerRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 201: { description: 'The link.', body: offerSchema } },
    problems: ['ttl_out_of_range', 'site_unknown', 'revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
  wallet_page: endpoint({
    method: 'GET',
    path: '/wallet',
    summary: 'Show the wallet page with the credentials in this browser',
    tag: 'wallet',
    auth: 'none',
    rateLimit: 'caller',
    request: { query: z.strictObject({ ui_locales: uiLocales }) },
    answers: { 200: { description: 'A page.', mediaType: 'text/html' } },
    problems: [],
    noStore: true,
    errorFormat: 'page',
  }),
  read_offer: endpoint({
    method: 'POST',
    path: '/wallet/offer',
    summary: 'Get the details of an offer, for the wallet page',
    description: 'Does not consume the offer. An unknown, expired or claimed offer is code_invalid.',
    tag: 'wallet',
    auth: 'page',
    rateLimit: 'caller',
    request: { body: offerQuestionSchema },
    bodyBytesMax: limits.request_body_bytes_small_max,
    answers: { 200: { description: 'The details of the offer.', body: offerDetailsSchema } },
    problems: ['code_invalid', 'credential_revoked', 'store_unavailable'],
    noStore: true,
  }),
  claim_offer: endpoint({
    method: 'POST',
    path: '/wallet/claim',
    summary: 'Claim an offer, from the wallet page',
    description:
      'The request must be signed with holder_key (RFC 9421), which proves that the claimer has the key. Until the offer expires, the ' +
      'same key can repeat the claim and gets the same credential. For other keys, a claimed offer is code_invalid.',
    tag: 'wallet',
    auth: 'page',
    rateLimit: 'caller',
    request: { body: claimRequestSchema },
    bodyBytesMax: limits.request_body_bytes_small_max,
    answers: { 201: { description: 'The credential, bound to the key.', body: claimedCredentialSchema } },
    problems: [
      'revocation_view_stale',
      'code_invalid',
      'key_rejected',
      'proof_required',
      'proof_invalid',
      'proof_replayed',
      'credential_revoked',
      'store_unavailable',
    ],
    noStore: true,
  }),
}
