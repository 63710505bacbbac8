import * as z from 'zod'
import { reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { time } from './fields.ts'
import { verifierHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { bearerModes, presentations } from './vocabulary.ts'

const params = z.strictObject(siteParams)

/** What a request presented. `none`: nothing that could be decided about. */
export const talliedPresentations = [...presentations, 'none'] as const
export type TalliedPresentation = (typeof talliedPresentations)[number]

/** `1h` has minutes, `24h` has hours and `30d` has days. */
export const summaryWindows = ['1h', '24h', '30d'] as const
export type SummaryWindow = (typeof summaryWindows)[number]

const presented = z.enum(talliedPresentations)

export const reportVerdictsRequestSchema = z.strictObject({
  tallies: z
    .array(
      z.strictObject({
        presented,
        outcome: z
          .string()
          .regex(/^[a-z][a-z_]{0,63}$/, 'must be allowed or the code of a denial')
          .meta({ description: 'allowed, or the code of the denial. Unknown codes count as other.' }),
        count: z.int().min(1).max(limits.tally_count_max),
      }),
    )
    .min(1)
    .max(limits.tallies_per_report_max),
})
export type ReportVerdictsRequest = z.input<typeof reportVerdictsRequestSchema>

const count = z.int().min(0)
const bounded = z
  .strictObject({ count, or_more: z.boolean() })
  .meta({ description: `Counted up to ${limits.summary_rows_counted_max}.` })

export const siteSummarySchema = z
  .strictObject({
    window: z.enum(summaryWindows),
    from: time,
    to: time,
    verdicts: z.strictObject({
      total: count,
      allowed: count,
      denied: count,
      by: z
        .array(z.strictObject({ presented, outcome: z.string(), count }))
        .max(limits.summary_items_max)
        .meta({ description: 'The most frequent first.' }),
    }),
    series: z
      .array(
        z.strictObject({
          at: time,
          credential: count,
          bearer: count,
          jwt: count,
          none: count,
          denied: count,
        }),
      )
      .max(limits.summary_items_max)
      .meta({
        description: 'Decisions by minute, hour or day, oldest first. Times without any are left out.',
      }),
    verifiers: z
      .array(
        z.strictObject({
          source: z.enum(['service', 'guards']),
          verifier_id: z.string().nullable().meta({
            description:
              'Null for the service, for guards without a configured name, and for names beyond the limit.',
          }),
          total: count,
          bearer: count.meta({ description: 'Bearer tokens that it accepted.' }),
          last_at: time.meta({ description: 'The minute or hour of its last decision.' }),
        }),
      )
      .max(limits.summary_items_max),
    bearer: z
      .strictObject({
        mode: z.enum(bearerModes),
        share: z.number().min(0).max(1).nullable().meta({
          description: 'The share of bearer tokens in all accepted requests of the window. Null without any.',
        }),
        accepted: count,
        verifiers: z
          .array(z.string())
          .max(limits.summary_items_max)
          .meta({ description: 'Named guards that accepted one in the window.' }),
        live_tokens: bounded,
        users_with_live_tokens: bounded,
        last_accepted_at: time.nullable().meta({ description: 'The hour, within the last 30 days.' }),
        last_exchange_at: time.nullable().meta({ description: 'The hour, within the last 30 days.' }),
        observed_since: time.nullable().meta({ description: 'The first hour with a count.' }),
        verifiers_not_reporting: z.array(z.string()).max(limits.summary_items_max).meta({
          description: 'Verifiers that follow the site now and report no decisions, by name.',
        }),
        safe_to_switch_off: z.boolean().meta({
          description:
            'No bearer token was accepted and no credential exchanged for 14 days, none is live, and every verifier of now reports its decisions. False when that is not known.',
        }),
      })
      .meta({
        description: 'Which callers still use bearer tokens. Counts of guards are their own statements.',
      }),
    counts: z.strictObject({
      revoked_users: bounded,
      active_credentials: bounded,
      live_tokens: bounded,
      open_sign_ins: bounded,
      open_offers: bounded,
    }),
  })
  .meta({ id: 'SiteSummary' })
export type SiteSummary = z.input<typeof siteSummarySchema>

export const summaryQuerySchema = z.strictObject({
  window: z.enum(summaryWindows).default('24h'),
})

export const summaryEndpoints = {
  report_verdicts: endpoint({
    method: 'POST',
    path: '/api/sites/{site_id}/feed/report',
    summary: 'Report how many decisions a verifier made',
    description:
      'At most once in ten seconds for each instance: the number of decisions since its last report, by what was presented and by outcome. Decides nothing; the summary of the site shows it.',
    tag: 'feed',
    auth: 'api_key',
    permissions: ['feed:read'],
    rateLimit: 'caller',
    request: { params, body: reportVerdictsRequestSchema, headers: z.object(verifierHeaders) },
    answers: { 204: { description: 'Counted.' } },
    problems: ['store_unavailable'],
    noStore: true,
  }),
  read_summary: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/summary',
    summary: 'Get a summary of a site',
    description:
      'Decisions of the service and of guards that report them, the use of bearer tokens, and counts. Decisions arrive with a delay of up to 30 seconds, and a summary may be five seconds old.',
    request: { params, query: summaryQuerySchema },
    answers: { 200: { description: 'The summary.', body: siteSummarySchema } },
    problems: ['revocation_view_stale', 'store_unavailable'],
  }),
}
