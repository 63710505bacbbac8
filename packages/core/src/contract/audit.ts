import * as z from 'zod'
import { actorSchema, administration, reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { integerParameter, line, madeId, seq, siteId, time } from './fields.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { parseRequestId } from './parameters.ts'
import { auditActorTypes, auditFormats, auditOrders, auditOutcomes } from './vocabulary.ts'

export const auditRowSchema = z
  .strictObject({
    audit_id: madeId,
    at: time,
    site_id: siteId.nullable().meta({ description: 'Null for actions that concern no site.' }),
    actor: actorSchema,
    action: z.string().meta({ examples: ['user.revoke'] }),
    target: z.string().nullable().meta({
      description:
        'The target of the action: a ppid, credential_id, issuer or key_id; erased if the user’s data was erased.',
    }),
    outcome: z.enum(auditOutcomes),
    reason: z.string().nullable(),
    seq: seq.nullable().meta({ description: 'The log entry that the action appended.' }),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'AuditRow' })
export type AuditRow = z.input<typeof auditRowSchema>

export const auditPageSchema = page(auditRowSchema).meta({ id: 'AuditPage' })
export type AuditPage = z.input<typeof auditPageSchema>

/** An actor in a filter: its type, or its type and its id. */
export interface AuditActorFilter {
  readonly type: (typeof auditActorTypes)[number]
  readonly id: string | undefined
}

const ACTOR = new RegExp(`^(${auditActorTypes.join('|')})(?::(.+))?$`)

/** Undefined unless the text is `type` or `type:id`, with a type of an actor. */
export function parseAuditActor(text: string): AuditActorFilter | undefined {
  const [, type, id] = ACTOR.exec(text) ?? []
  return type === undefined ? undefined : { type: type as AuditActorFilter['type'], id }
}

const ACTOR_CHARS_MAX = limits.did_chars_max + 16

const filters = {
  actor: line(
    ACTOR_CHARS_MAX,
    'Only actions of this actor: type:id, such as api_key:key_01k9…, or a type.',
    1,
  )
    .refine((value) => parseAuditActor(value) !== undefined, 'must be type:id or a type of an actor')
    .meta({ examples: ['api_key:key_01k9x3v0h2e8y6q4b7d5m1n8ra', 'operator'] })
    .optional(),
  action: z
    .string()
    .regex(/^[a-z_]{1,32}(?:\.[a-z_]{1,32})?$/, 'must be an action such as user.revoke')
    .meta({ examples: ['user.revoke'] })
    .optional(),
  target: line(2 * limits.did_chars_max, 'Only actions with exactly this target.', 1).optional(),
  outcome: z.enum(auditOutcomes).optional(),
  request_id: z
    .string()
    .refine((value) => parseRequestId(value) !== undefined, 'must be an X-Request-Id of this service')
    .optional(),
  from: time.optional().meta({ description: 'Only actions at this time or later.' }),
  to: time.optional().meta({ description: 'Only actions before this time.' }),
}

const auditParameters = {
  ...pageParameters,
  ...filters,
  order: z.enum(auditOrders).default('newest').meta({ description: 'Newest or oldest first.' }),
  after: madeId.optional().meta({
    description: 'Only rows that come after the row with this audit_id in the order of the list.',
  }),
  format: z.enum(auditFormats).optional().meta({
    description:
      'json: a page. ndjson, csv, ocsf: all rows in one response, up to rows. Default: by Accept (application/x-ndjson, text/csv), otherwise json.',
  }),
  rows: integerParameter(1, limits.audit_export_rows_max)
    .default(limits.audit_export_rows_max)
    .meta({ description: 'The maximum number of rows in ndjson, csv and ocsf.' }),
}

export const auditQuerySchema = z.strictObject(auditParameters)
export const serviceAuditQuerySchema = z.strictObject({
  ...auditParameters,
  without_site: z
    .literal('1')
    .optional()
    .meta({ description: 'Only actions that concern no site, such as those on operator keys.' }),
})

const answers = {
  200: {
    description: 'A page of audit rows; or all rows as NDJSON, CSV or OCSF events.',
    body: auditPageSchema,
    otherMediaTypes: ['application/x-ndjson', 'text/csv'],
  },
} as const

const DESCRIPTION =
  'A page can have fewer items than requested although next_cursor is not null: with several filters, 1,000 rows are read for each page. ndjson, csv and ocsf end at the time of the request. A cell of csv that a spreadsheet could run as a formula begins with an apostrophe.'

export const auditEndpoints = {
  list_audit: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/audit',
    summary: 'List the audit log of a site',
    description: DESCRIPTION,
    request: { params: z.strictObject(siteParams), query: auditQuerySchema },
    answers,
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  list_service_audit: endpoint({
    ...administration,
    auth: 'operator_key',
    permissions: [],
    method: 'GET',
    path: '/api/audit',
    summary: 'List the audit log of all sites and of the service',
    description: `${DESCRIPTION} Across sites, only request_id is found by an index.`,
    request: { query: serviceAuditQuerySchema },
    answers,
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
}
