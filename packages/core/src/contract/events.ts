import * as z from 'zod'
import { isWritableTime, parseTime } from '../encoding/rfc3339.ts'
import type { Entry, EntryKind } from '../log/entry.ts'
import { PACK_IDS_MAX, PAGE_REVOCATIONS_MAX, type PackLine } from '../log/packs.ts'
import {
  credentialId,
  epoch,
  issuerKeyId,
  feedKid as kid,
  madeId,
  multikey,
  ppid,
  scope,
  seq,
  sha256Hex,
  feedSignature as signature,
  siteId,
  thumbprint,
  time,
} from './fields.ts'
import { limits } from './limits.ts'
import { oauthIssuerState, oauthIssuerUrl } from './oauth-issuer-state.ts'
import {
  bearerModes,
  delegationModes,
  holderProofModes,
  issuerKeyStatuses,
  issuerStatuses,
} from './vocabulary.ts'

/**
 * All kinds of log entries. The `event` of the feed and the `type` of a webhook are one of these.
 */
export const entryKinds = [
  'user.revoked',
  'user.reinstated',
  'user.signed_out',
  'credential.revoked',
  'token.revoked',
  'holder.revoked',
  'issuer.trusted',
  'oauth_issuer.trusted',
  'issuer.distrusted',
  'issuer.cut_off',
  'key.retired',
  'key.compromised',
  'site.changed',
  'site.cut_off',
] as const satisfies readonly EntryKind[]

/** Names of the events on the feed. */
export const feedEvents = [...entryKinds, 'heartbeat'] as const
export type FeedEventName = (typeof feedEvents)[number]

const issuer = z
  .string()
  .max(limits.did_chars_max)
  .regex(/^did:(?:key|jwk|web):[A-Za-z0-9._:%-]+$/, 'must be a did:key, did:jwk or did:web')
const ttlMax = z.int().min(1).nullable().meta({ description: 'Null: no limit of its own.' })

const keyState = z
  .strictObject({
    id: issuerKeyId,
    key: multikey,
    status: z.enum(issuerKeyStatuses),
    retired_at: time.optional().meta({ description: 'Present only if the status is retired.' }),
  })
  .refine((key) => (key.status === 'retired') === (key.retired_at !== undefined), {
    path: ['retired_at'],
    message: 'must be present only if status is retired',
  })

const issuerState = {
  issuer,
  keys: z
    .array(keyState)
    .max(limits.issuer_keys_max)
    .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, 'must not contain duplicates'),
  scope: z
    .array(scope)
    .min(1)
    .max(limits.scope_list_max)
    .refine((list) => new Set(list).size === list.length, 'must not contain duplicates')
    .nullable()
    .meta({ description: 'The scopes that the issuer may grant. Null: all.' }),
  credential_ttl_seconds_max: ttlMax,
}

const siteState = {
  bearer: z.enum(bearerModes),
  holder_proof: z.enum(holderProofModes),
  delegation: z.enum(delegationModes),
  credential_ttl_seconds_max: ttlMax,
}
const userRevoked = { ppid, revoked_at: time }
const credentialRevoked = { credential_id: credentialId, revoked_at: time }
const tokenRevoked = { token_sha256: sha256Hex, revoked_at: time }
const holderRevoked = { thumbprint, revoked_at: time }
const signedOut = { ppid, before: time }
const anyIssuer = z.union([issuer, oauthIssuerUrl])
const keyChange = z.strictObject({ issuer: anyIssuer, key_id: issuerKeyId, at: time })

/**
 * The body of each kind of entry. Reasons, user references and labels are never sent on the feed.
 */
export const entryBodySchemas = {
  'user.revoked': z.strictObject(userRevoked),
  'user.reinstated': z.strictObject({ ppid, reinstated_at: time }),
  'user.signed_out': z.strictObject(signedOut),
  'credential.revoked': z.strictObject(credentialRevoked),
  'token.revoked': z.strictObject(tokenRevoked),
  'holder.revoked': z.strictObject(holderRevoked),
  'issuer.trusted': z.strictObject(issuerState),
  'oauth_issuer.trusted': z.strictObject(oauthIssuerState),
  'issuer.distrusted': z.strictObject({ issuer: anyIssuer }),
  'issuer.cut_off': z.strictObject({ issuer: anyIssuer, before: time }),
  'key.retired': keyChange,
  'key.compromised': keyChange,
  'site.changed': z.strictObject(siteState),
  'site.cut_off': z.strictObject({ before: time }),
} satisfies Record<EntryKind, z.ZodType>

function entrySchema<const Kind extends EntryKind>(kind: Kind) {
  return z.strictObject({
    epoch,
    seq: z.int().min(1),
    site_id: siteId,
    kind: z.literal(kind),
    body: entryBodySchemas[kind],
    at: time,
    prev_hash: sha256Hex.meta({
      description: 'The hash of the previous entry; 64 zeros in the first entry.',
    }),
    hash: sha256Hex.meta({
      description: 'SHA-256 of the canonical JSON (RFC 8785) of the entry without this member.',
    }),
  })
}

/**
 * One entry of a site's log, for documentation and response checks. A verifier parses entries with
 * `parseEntry` of the core, which also checks their keys.
 */
export const logEntrySchema = z
  .discriminatedUnion('kind', [
    entrySchema('user.revoked'),
    entrySchema('user.reinstated'),
    entrySchema('user.signed_out'),
    entrySchema('credential.revoked'),
    entrySchema('token.revoked'),
    entrySchema('holder.revoked'),
    entrySchema('issuer.trusted'),
    entrySchema('oauth_issuer.trusted'),
    entrySchema('issuer.distrusted'),
    entrySchema('issuer.cut_off'),
    entrySchema('key.retired'),
    entrySchema('key.compromised'),
    entrySchema('site.changed'),
    entrySchema('site.cut_off'),
  ])
  .meta({ id: 'LogEntry' })
export type LogEntry = Entry

const head = {
  site_id: siteId,
  epoch,
  seq,
  hash: sha256Hex,
  as_of: time,
  max_age_seconds: z.int().min(1).max(limits.max_age_seconds_max).meta({
    description:
      'A verifier rejects everything when its last proven head is older than this or than its own setting.',
  }),
}

/**
 * A proof of the head of the log, signed over `"countersign-heartbeat\n"` and the canonical JSON of
 * the other members.
 */
export const heartbeatSchema = z.strictObject({ ...head, kid, signature }).meta({ id: 'Heartbeat' })
export type Heartbeat = z.input<typeof heartbeatSchema>

/** The `data` of one event of the feed. */
export const feedEventDataSchema = z.union([logEntrySchema, heartbeatSchema]).meta({
  description:
    'data of one event: a log entry (its kind is the event name, its epoch.seq is the id) or a heartbeat.',
})

/**
 * How an epoch of the log began, signed over `"countersign-epoch\n"` and the canonical JSON of the
 * other members.
 */
const epochStatement = {
  site_id: siteId,
  epoch,
  previous: z
    .strictObject({ epoch, seq, hash: sha256Hex })
    .meta({ description: 'The last entry of the previous epoch that this epoch continues from.' }),
  at: time,
  kid,
  signature,
}

const epochLine = z
  .strictObject({ type: z.literal('epoch'), ...epochStatement })
  .refine((line) => line.epoch !== line.previous.epoch, {
    path: ['previous', 'epoch'],
    message: 'must be another epoch',
  })
  .meta({
    description: 'How an epoch of the log began. At most 16 of these lines follow the head, oldest first.',
  })

const compromisedKey = z.strictObject({
  key_id: issuerKeyId,
  key: multikey.nullable().meta({ description: 'Null if the key was never listed.' }),
  at: time,
})

const issuerLine = z
  .strictObject({
    type: z.literal('issuer'),
    ...issuerState,
    status: z.enum(issuerStatuses),
    distrusted_at: time
      .nullable()
      .optional()
      .meta({ description: 'Present only if the status is distrusted.' }),
    compromised: z.array(compromisedKey).max(limits.compromised_keys_max).meta({
      description: 'All compromised keys of this issuer, including keys that are not listed any more.',
    }),
  })
  .refine((line) => (line.status === 'distrusted') === (line.distrusted_at !== undefined), {
    path: ['distrusted_at'],
    message: 'must be present only if status is distrusted',
  })

const userLine = z
  .strictObject({
    type: z.literal('user'),
    ppid,
    revoked_at: time.meta({ description: 'When the user was first revoked.' }),
    reinstated_at: time.optional().meta({ description: 'The latest reinstatement.' }),
    revoked_again_at: time
      .optional()
      .meta({ description: 'When the user was revoked again after that, if revoked now.' }),
  })
  .refine((line) => line.revoked_again_at === undefined || line.reinstated_at !== undefined, {
    path: ['revoked_again_at'],
    message: 'requires reinstated_at',
  })

function packLine<const Type extends PackLine['type']>(type: Type, id: z.ZodType<string>) {
  return z
    .strictObject({
      type: z.literal(type),
      since: time,
      ids: z.array(id).min(1).max(PACK_IDS_MAX),
      ms: z
        .array(z.int().min(0))
        .max(PACK_IDS_MAX)
        .meta({ description: 'When each of ids was revoked, in milliseconds after since.' }),
    })
    .refine(({ ids, ms }) => ids.length === ms.length, { path: ['ms'], message: 'must be as long as ids' })
    .refine(({ since, ms }) => ms.every((after) => isWritableTime((parseTime(since) ?? 0) + after)), {
      path: ['ms'],
      message: 'must not lead beyond the year 9999',
    })
}

const headLine = z
  .strictObject({
    type: z.literal('head'),
    ...head,
    base: z.strictObject({ seq, hash: sha256Hex }).meta({
      description:
        'The service may have removed the entries up to this one. Before the first removal: seq 0 and 64 zeros.',
    }),
  })
  .refine((line) => line.base.seq <= line.seq, {
    path: ['base', 'seq'],
    message: 'must not be after the head',
  })

const pageLine = z
  .strictObject({
    type: z.literal('page'),
    from_seq: z.int().min(1),
    to_seq: z.int().min(1),
    lines: z.int().min(0).max(PAGE_REVOCATIONS_MAX),
    sha256: sha256Hex.meta({ description: 'SHA-256 of the bytes of these lines.' }),
  })
  .refine(({ from_seq, to_seq }) => from_seq <= to_seq, {
    path: ['to_seq'],
    message: 'must not be before from_seq',
  })
  .meta({
    description:
      'Announces a page: the next lines are the revocations of the entries from_seq to to_seq. The first page begins at 1, each further one after the page before it.',
  })

/** One line of a snapshot. The first line is `head`, the last one `end`. */
export const snapshotLineSchema = z
  .discriminatedUnion('type', [
    headLine,
    epochLine,
    pageLine,
    packLine('users', ppid),
    packLine('credentials', credentialId),
    packLine('tokens', sha256Hex),
    z.strictObject({
      type: z.literal('site'),
      ...siteState,
      bearer_off_at: time.optional(),
      subject_key: z
        .string()
        .regex(/^[A-Za-z0-9_-]{43}$/)
        .optional()
        .meta({ description: 'The key of the ids that are derived from access tokens. Never public.' }),
    }),
    issuerLine,
    z.strictObject({
      type: z.literal('oauth_issuer'),
      state: z.strictObject(oauthIssuerState),
      distrusted_at: time.nullable(),
    }),
    z.strictObject({ type: z.literal('oauth_key'), key_id: thumbprint, compromised_at: time }),
    userLine,
    z.strictObject({ type: z.literal('signed_out'), ...signedOut }),
    z.strictObject({ type: z.literal('holder'), ...holderRevoked }),
    z.strictObject({
      type: z.literal('cut_off'),
      issuer: anyIssuer.nullable().meta({ description: 'Null: every issuer of the site.' }),
      before: time,
    }),
    z.strictObject({ type: z.literal('credential'), ...credentialRevoked }),
    z.strictObject({ type: z.literal('token'), ...tokenRevoked }),
    z.strictObject({
      type: z.literal('end'),
      lines: z.int().min(0).meta({
        description: 'The number of lines before this one, without the lines of pages.',
      }),
      sha256: sha256Hex.meta({ description: 'SHA-256 of the bytes of these lines.' }),
      kid,
      signature: signature.meta({
        description: 'Over "countersign-snapshot\\n" and the canonical JSON of head and digest.',
      }),
    }),
  ])
  .meta({ id: 'SnapshotLine' })
export type SnapshotLine = z.input<typeof snapshotLineSchema>

/** The body of a webhook request, as in Standard Webhooks. */
export const webhookBodySchema = z
  .strictObject({
    type: z.enum(entryKinds),
    timestamp: time.meta({ description: 'at of the entry.' }),
    data: logEntrySchema,
  })
  .refine(({ type, data }) => type === data.kind, {
    path: ['type'],
    message: 'must be the kind of the entry',
  })
  .meta({ id: 'WebhookBody' })
export type WebhookBody = z.input<typeof webhookBodySchema>

/** What a test of a webhook sends: it is no entry of the log, and asks for nothing. */
export const webhookTestBodySchema = z
  .strictObject({
    type: z.literal('webhook.test'),
    timestamp: time,
    data: z.strictObject({ site_id: siteId, webhook_id: madeId }),
  })
  .meta({ id: 'WebhookTestBody' })

/**
 * The headers of a webhook request. While a secret is rotated there are two signatures, separated
 * by a space.
 */
export const webhookHeadersSchema = z.object({
  'webhook-id': z.string().meta({
    description: '<site_id>.<epoch>.<seq>: the same for every attempt. test_… for a test.',
  }),
  'webhook-timestamp': z.string().regex(/^\d{1,12}$/),
  'webhook-signature': z.string().regex(/^v1,[A-Za-z0-9+/]{43}=(?: v1,[A-Za-z0-9+/]{43}=)*$/),
})
