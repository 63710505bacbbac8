import * as z from 'zod'
import { drillOutcomes } from '../log/signed-drill.ts'
import { RECEIPT_VERIFIERS_MAX, receiptStates, receiptVerifierStates } from '../log/signed-receipt.ts'
import { administration, reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { entryKinds } from './events.ts'
import { credentialId, epoch, integerParameter, madeId, reason, seq, siteId, time } from './fields.ts'
import { idempotencyHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { appliedMs, firstDeniedMs } from './revocation.ts'

const count = z.int().min(0)

/** What a list shows of a receipt. */
const summary = {
  epoch,
  seq,
  kind: z.enum(entryKinds),
  at: time.meta({ description: 'The time of the entry.' }),
  committed_at: time.meta({ description: 'A time read after the entry was committed.' }),
  as_of: time.meta({ description: 'When this version of the receipt was written.' }),
  state: z.enum(receiptStates).meta({
    description: 'complete: every verifier has acknowledged the entry or is gone.',
  }),
  final: z.boolean().meta({ description: 'True: the service does not update this receipt again.' }),
  drill_id: madeId.nullable().meta({ description: 'The drill that appended the entry.' }),
  expected: count.meta({ description: 'All verifiers that had to apply the entry.' }),
  acknowledged: count.meta({ description: 'How many of them have acknowledged it.' }),
  gone: count.meta({
    description:
      'How many are not known to have acknowledged it, and can no longer accept what it revoked: they closed, their lease ended, or they had no lease or were not listed, and denied_at_latest has passed.',
  }),
  elapsed_ms: count.nullable().meta({
    description: 'From at until the last of them acknowledged the entry. Null while some have not.',
  }),
  denied_everywhere_at: time.nullable().meta({
    description:
      'From this time, no guard of the site accepts what the entry revoked, if clocks differ by at most 10 seconds. Null if a verifier fails open.',
  }),
}

export const receiptSummarySchema = z.strictObject(summary).meta({ id: 'ReceiptSummary' })
export type ReceiptSummary = z.input<typeof receiptSummarySchema>

/** What statistics are computed from. `mixed`: a part of the samples from each. */
export const timeMeasures = ['applied', 'acknowledged', 'mixed'] as const
export type TimeMeasure = (typeof timeMeasures)[number]

const receiptVerifierSchema = z
  .strictObject({
    verifier_id: z.string(),
    instance_id: z.string().nullable().meta({ description: 'Null for a reader that declares no instance.' }),
    node_id: z.string().nullable().meta({ description: 'The node that it was connected to.' }),
    state: z.enum(receiptVerifierStates).meta({
      description:
        'gone: it has closed or its lease has ended, so it rejects everything; or it had no lease, has disconnected, and denied_at_latest has passed. Until then such a reader is not_connected, and in a drill it stays so.',
    }),
    after_ms: count.nullable().meta({
      description:
        'From at of the entry until the acknowledgement arrived. Verifiers collect acknowledgements for up to 250 ms, so this is an upper bound.',
    }),
    applied_ms: appliedMs.optional(),
    first_denied_ms: firstDeniedMs.optional(),
    rejects_from: time.nullable().meta({
      description: 'If it has not acknowledged the entry: the time from which it rejects everything.',
    }),
    fails_open: z.boolean(),
  })
  .meta({ id: 'ReceiptVerifier' })

const kid = z.string().meta({ description: 'The feed key that signed.' })
const signature = z.string().meta({
  description:
    'Ed25519 in base64url over the line that names the type, a line feed, and the other members as canonical JSON (RFC 8785).',
})

/** A signed receipt: which verifiers had applied an entry. */
export const receiptSchema = z
  .strictObject({
    site_id: siteId,
    ...summary,
    entry_hash: z
      .string()
      .meta({ description: 'The hash of the entry, which binds the receipt to the log.' }),
    denied_at_latest: time.meta({
      description: 'An upper bound for every guard that does not fail open. It relies on signed heads only.',
    }),
    verifiers: z.array(receiptVerifierSchema).max(RECEIPT_VERIFIERS_MAX).meta({
      description:
        'Those that have not acknowledged first. If there are more than fit, expected counts the others, and acknowledged does not.',
    }),
    kid,
    signature,
  })
  .meta({ id: 'Receipt' })
export type Receipt = z.input<typeof receiptSchema>

export const receiptPageSchema = page(receiptSummarySchema).meta({ id: 'ReceiptPage' })
export type ReceiptPage = z.input<typeof receiptPageSchema>

export const receiptListQuerySchema = z.strictObject({
  ...pageParameters,
  state: z.enum(receiptStates).optional(),
})

/** `running` until every verifier has acknowledged or the time is over. */
export const drillStates = ['running', ...drillOutcomes] as const
export type DrillState = (typeof drillStates)[number]

export const drillReportSchema = z
  .strictObject({
    site_id: siteId,
    drill_id: madeId,
    credential_id: credentialId,
    started_at: time,
    ended_at: time,
    outcome: z.enum(drillOutcomes),
    receipt: receiptSchema,
    kid,
    signature,
  })
  .meta({ id: 'DrillReport' })
export type DrillReport = z.input<typeof drillReportSchema>

const drillMembers = {
  drill_id: madeId,
  state: z.enum(drillStates),
  started_at: time,
  ended_at: time.nullable(),
  credential_id: credentialId.meta({ description: 'The id that was revoked. No credential has it.' }),
  epoch,
  seq: seq.meta({ description: 'The entry of the log.' }),
}

export const drillSummarySchema = z
  .strictObject({
    ...drillMembers,
    expected: count.nullable().meta({ description: 'Null while it runs, like the next two.' }),
    acknowledged: count.nullable(),
    elapsed_ms: count.nullable(),
  })
  .meta({ id: 'DrillSummary' })
export type DrillSummary = z.input<typeof drillSummarySchema>

export const drillSchema = z
  .strictObject({
    ...drillMembers,
    report: drillReportSchema.nullable().meta({ description: 'Null while it runs.' }),
  })
  .meta({ id: 'Drill' })
export type Drill = z.input<typeof drillSchema>

export const drillPageSchema = page(drillSummarySchema).meta({ id: 'DrillPage' })
export type DrillPage = z.input<typeof drillPageSchema>

export const startDrillRequestSchema = z.strictObject({ reason: reason.optional() })
export type StartDrillRequest = z.input<typeof startDrillRequestSchema>

const ms = count.nullable().meta({ description: 'Milliseconds; null without samples.' })
const applyStats = {
  samples: count.meta({ description: 'How many times were counted: one for each verifier and entry.' }),
  reported: count.meta({
    description: 'How many of them are from reports of the verifiers. The others are acknowledgements.',
  }),
  measure: z.enum(timeMeasures).nullable().meta({
    description:
      'applied: until the verifier applied the entry, by its report. acknowledged: until its acknowledgement arrived, up to 250 ms later. Null without samples.',
  }),
  p50_ms: ms,
  p99_ms: ms,
  max_ms: ms,
}

/** The windows of statistics. */
export const statsWindows = ['1h', '24h', '30d'] as const
export type StatsWindow = (typeof statsWindows)[number]

export const propagationStatsQuerySchema = z.strictObject({
  window: z.enum(statsWindows).default('24h').meta({ description: 'Default: 24h.' }),
})

export const propagationStatsSchema = z
  .strictObject({
    window: z.enum(statsWindows),
    from: time.meta({ description: 'Entries since this full hour are counted.' }),
    as_of: time,
    ...applyStats,
    buckets: z
      .array(z.strictObject({ up_to_ms: count, count }))
      .max(limits.stats_buckets_max)
      .meta({
        description:
          'A histogram on a logarithmic scale, without empty buckets. Four buckets for each doubling: percentiles are at most 19 % too high.',
      }),
    verifiers: z
      .array(
        z.strictObject({
          verifier_id: z
            .string()
            .nullable()
            .meta({ description: 'Null for all verifiers without a configured name.' }),
          ...applyStats,
        }),
      )
      .max(limits.laggards_listed_max)
      .meta({ description: 'By name, the slowest first.' }),
  })
  .meta({ id: 'PropagationStats' })
export type PropagationStats = z.input<typeof propagationStatsSchema>

const params = z.strictObject(siteParams)
const list = { method: 'GET', problems: ['cursor_malformed', 'store_unavailable'] } as const

export const receiptEndpoints = {
  list_receipts: endpoint({
    ...reading,
    ...list,
    path: '/api/sites/{site_id}/receipts',
    summary: 'List receipts',
    description:
      'Newest first. Every entry has one, except the reinstatement of a user: the service writes it about a second after the entry, and updates it when verifiers catch up, after 30 seconds and for the last time after 24 hours.',
    request: { params, query: receiptListQuerySchema },
    answers: {
      200: { description: 'A page of receipts, without their verifiers.', body: receiptPageSchema },
    },
  }),
  read_receipt: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/receipts/{seq}',
    summary: 'Get a signed receipt',
    description:
      'The response body is the signed receipt itself. Save it, and check it with countersign verify-receipt.',
    request: {
      params: z.strictObject({ ...siteParams, seq: integerParameter(1, Number.MAX_SAFE_INTEGER) }),
    },
    answers: {
      200: { description: 'The receipt. An entry that has none yet is not_found.', body: receiptSchema },
    },
    problems: ['store_unavailable'],
  }),
  propagation_stats: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/propagation/stats',
    summary: 'Get how long verifiers take to apply entries',
    description:
      'From the time of an entry until each verifier applied it, as in its receipt: applied_ms if the verifier reported it, otherwise after_ms. Both are upper bounds; measure says which one a verifier has. Kept for 31 days.',
    request: { params, query: propagationStatsQuerySchema },
    answers: { 200: { description: 'The statistics.', body: propagationStatsSchema } },
    problems: ['store_unavailable'],
  }),
  start_drill: endpoint({
    ...administration,
    method: 'POST',
    permissions: ['site:admin', 'credentials:revoke'],
    path: '/api/sites/{site_id}/drills',
    summary: 'Start a drill',
    description:
      'Revokes an id that no credential has, and reports which verifiers apply the entry within 30 seconds. No user loses access. Webhooks receive the entry; its credential_id begins with cred_drill_. While a drill of the site runs, the response names that one.',
    idempotency: 'replayed',
    request: {
      params,
      body: startDrillRequestSchema,
      bodyOptional: true,
      headers: z.object(idempotencyHeaders),
    },
    answers: { 202: { description: 'The drill is running.', body: drillSchema } },
    problems: ['store_unavailable'],
  }),
  list_drills: endpoint({
    ...reading,
    ...list,
    path: '/api/sites/{site_id}/drills',
    summary: 'List drills',
    description: 'Newest first.',
    request: { params, query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of drills, without their reports.', body: drillPageSchema } },
  }),
  read_drill: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/drills/{drill_id}',
    summary: 'Get a drill with its signed report',
    request: { params: z.strictObject({ ...siteParams, drill_id: madeId }) },
    answers: { 200: { description: 'The drill.', body: drillSchema } },
    problems: ['store_unavailable'],
  }),
}
