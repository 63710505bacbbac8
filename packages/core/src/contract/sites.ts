import * as z from 'zod'
import { administration, operating, reading, siteParams } from './administration.ts'
import { brandChanges, brandMembers, brandSettings } from './brand.ts'
import { endpoint } from './endpoint.ts'
import { credentialTtlSecondsMax, reason, siteHost, siteId, siteName, time } from './fields.ts'
import { idempotencyHeaders, preferenceHeaders, preferHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { propagationSchema } from './revocation.ts'
import { returnUrlSchema } from './sign-in.ts'
import { bearerModes, delegationModes, holderProofModes } from './vocabulary.ts'

const returnUrls = z
  .array(returnUrlSchema)
  .max(limits.return_urls_max)
  .refine((urls) => new Set(urls).size === urls.length, 'must not contain duplicates')
  .meta({
    uniqueItems: true,
    description: 'The URLs that hosted sign-ins may return to. A change replaces the whole list.',
  })
const hosts = z
  .array(siteHost)
  .min(1)
  .max(limits.site_hosts_max)
  .refine((list) => new Set(list).size === list.length, 'must not contain duplicates')
  .meta({
    uniqueItems: true,
    description:
      'The hosts that are protected by forward-auth. A holder proof for any other host is rejected. A change replaces the whole list. Default: the name of the site.',
  })
const bearer = z.enum(bearerModes).meta({ description: 'Whether bearer tokens are accepted. Default: on.' })
const holderProof = z.enum(holderProofModes).meta({
  description:
    'required: every request needs a holder proof, so credentials without a holder key and bearer tokens are rejected. Default: optional.',
})

const delegation = z.enum(delegationModes).meta({
  description: 'off: delegated credentials are rejected. Default: on.',
})

const maxStalenessSecondsMax = z
  .int()
  .min(limits.max_age_seconds_min)
  .max(limits.max_age_seconds_max)
  .meta({
    description: `The longest time in seconds that a guard of the site accepts requests without a newer signed head. Default: ${limits.max_age_seconds_default}.`,
  })

export const createSiteRequestSchema = z.strictObject({
  site_id: siteId,
  name: siteName.optional(),
  return_urls: returnUrls.optional(),
  hosts: hosts.optional(),
  bearer: bearer.optional(),
  holder_proof: holderProof.optional(),
  delegation: delegation.optional(),
  credential_ttl_seconds_max: credentialTtlSecondsMax.optional(),
  max_staleness_seconds_max: maxStalenessSecondsMax.optional(),
  ...brandSettings,
  reason: reason.optional(),
})
export type CreateSiteRequest = z.input<typeof createSiteRequestSchema>

export const changeSiteRequestSchema = z.strictObject({
  name: siteName.nullable().optional().meta({ description: 'Null removes the name.' }),
  return_urls: returnUrls.optional(),
  hosts: hosts.nullable().optional().meta({ description: 'Null: the name of the site only.' }),
  bearer: bearer.optional(),
  holder_proof: holderProof.optional(),
  delegation: delegation.optional(),
  credential_ttl_seconds_max: credentialTtlSecondsMax
    .nullable()
    .optional()
    .meta({ description: 'Null removes the limit of this site.' }),
  max_staleness_seconds_max: maxStalenessSecondsMax.optional(),
  ...brandChanges,
  reason: reason.optional(),
})
export type ChangeSiteRequest = z.input<typeof changeSiteRequestSchema>

export const siteSchema = z
  .strictObject({
    site_id: siteId,
    name: siteName.nullable(),
    return_urls: z.array(z.string()).max(limits.return_urls_max),
    hosts: hosts
      .nullable()
      .meta({ description: 'The hosts of holder proofs at forward-auth. Null: the name of the site only.' }),
    bearer,
    holder_proof: holderProof,
    delegation,
    credential_ttl_seconds_max: credentialTtlSecondsMax.nullable(),
    max_staleness_seconds_max: maxStalenessSecondsMax,
    ...brandMembers,
    created_at: time,
  })
  .meta({ id: 'Site' })
export type Site = z.input<typeof siteSchema>

/** The response to a change, which may revoke access. */
export const changedSiteSchema = siteSchema
  .extend({
    propagation: propagationSchema
      .optional()
      .meta({ description: 'Only with Prefer: wait, if an entry was appended.' }),
  })
  .meta({ id: 'ChangedSite' })
export type ChangedSite = z.input<typeof changedSiteSchema>

export const sitePageSchema = page(siteSchema).meta({ id: 'SitePage' })
export type SitePage = z.input<typeof sitePageSchema>

export const siteEndpoints = {
  create_site: endpoint({
    ...operating,
    method: 'POST',
    path: '/api/sites',
    summary: 'Create a site',
    idempotency: 'replayed',
    request: { body: createSiteRequestSchema, headers: z.object(idempotencyHeaders) },
    bodyBytesMax: limits.request_body_bytes_max,
    answers: { 201: { description: 'The site.', body: siteSchema } },
    problems: ['redirect_not_allowed', 'already_exists', 'logo_rejected', 'store_unavailable'],
  }),
  list_sites: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites',
    summary: 'List sites',
    description: 'A key of a site lists only that site.',
    request: { query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of sites.', body: sitePageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  read_site: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}',
    summary: 'Get a site',
    request: { params: z.strictObject(siteParams) },
    answers: { 200: { description: 'The site.', body: siteSchema } },
    problems: ['store_unavailable'],
  }),
  change_site: endpoint({
    ...administration,
    method: 'PATCH',
    path: '/api/sites/{site_id}',
    summary: 'Change a site',
    description:
      'Members that are not sent do not change. bearer "off" invalidates all tokens immediately. If logo_url cannot be fetched, nothing changes.',
    idempotency: 'replayed',
    request: {
      params: z.strictObject(siteParams),
      body: changeSiteRequestSchema,
      headers: z.object({ ...idempotencyHeaders, ...preferHeaders }),
    },
    bodyBytesMax: limits.request_body_bytes_max,
    answers: {
      200: { description: 'The site as it is now.', body: changedSiteSchema, headers: preferenceHeaders },
    },
    problems: ['redirect_not_allowed', 'logo_rejected', 'store_unavailable'],
  }),
}
