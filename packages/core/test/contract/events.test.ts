import { describe, expect, test } from 'vitest'
import {
  entryKinds,
  feedEventDataSchema,
  heartbeatSchema,
  logEntrySchema,
  snapshotLineSchema,
  webhookBodySchema,
  webhookHeadersSchema,
  webhookTestBodySchema,
} from '../../src/contract/events.ts'
import { AT, CREDENTIAL_ID, EPOCH, HASH, LATER, MULTIKEY, PPID, SITE } from '../../src/contract/examples.ts'
import { parseEntry } from '../../src/log/entry.ts'
import { parseHeartbeat } from '../../src/log/signed-head.ts'
import { parseSnapshotLine } from '../../src/log/snapshot.ts'

type Json = Record<string, unknown>

import { oauthState } from '../log/log-sample.ts'

const DID = 'did:web:issuer.example'
const issuerState = {
  issuer: DID,
  keys: [
    { id: 'key-1', key: MULTIKEY, status: 'active' },
    { id: 'key-2', key: MULTIKEY, status: 'retired', retired_at: AT },
    { id: 'key-3', key: MULTIKEY, status: 'compromised' },
  ],
  scope: ['orders:read'],
  credential_ttl_seconds_max: 7200,
}
const siteState = {
  bearer: 'on',
  holder_proof: 'optional',
  delegation: 'on',
  credential_ttl_seconds_max: null,
}

const THUMBPRINT = 'a'.repeat(43)
const bodies: Record<(typeof entryKinds)[number], Json> = {
  'user.revoked': { ppid: PPID, revoked_at: AT },
  'user.reinstated': { ppid: PPID, reinstated_at: LATER },
  'user.signed_out': { ppid: PPID, before: AT },
  'credential.revoked': { credential_id: CREDENTIAL_ID, revoked_at: AT },
  'token.revoked': { token_sha256: HASH, revoked_at: AT },
  'holder.revoked': { thumbprint: THUMBPRINT, revoked_at: AT },
  'issuer.trusted': issuerState,
  'oauth_issuer.trusted': { ...oauthState(1) },
  'issuer.distrusted': { issuer: DID },
  'issuer.cut_off': { issuer: 'https://idp.example', before: AT },
  'key.retired': { issuer: DID, key_id: 'key-1', at: AT },
  'key.compromised': { issuer: `did:key:${MULTIKEY}`, key_id: MULTIKEY, at: AT },
  'site.changed': siteState,
  'site.cut_off': { before: AT },
}
const createEntryOfKind = (kind: string, body: unknown): Json => ({
  epoch: EPOCH,
  seq: 1,
  site_id: SITE,
  kind,
  body,
  at: AT,
  prev_hash: '0'.repeat(64),
  hash: HASH,
})

const head = { site_id: SITE, epoch: EPOCH, seq: 0, hash: '0'.repeat(64), as_of: AT, max_age_seconds: 60 }
const heartbeat = { ...head, kid: 'did:web:auth.example#feed-1', signature: 'A'.repeat(86) }
const issuerLine = {
  type: 'issuer',
  ...issuerState,
  status: 'trusted',
  compromised: [{ key_id: 'key-9', key: null, at: AT }],
}
const lines: Json[] = [
  { type: 'head', ...head, seq: 5, base: { seq: 3, hash: HASH } },
  { type: 'page', from_seq: 1, to_seq: 1, lines: 1, sha256: HASH },
  { type: 'users', since: AT, ids: [PPID, PPID], ms: [0, 1] },
  { type: 'credentials', since: AT, ids: [CREDENTIAL_ID], ms: [0] },
  { type: 'tokens', since: AT, ids: [HASH], ms: [1500] },
  {
    type: 'epoch',
    site_id: SITE,
    epoch: EPOCH,
    previous: { epoch: `${EPOCH}0`, seq: 3, hash: HASH },
    at: AT,
    kid: 'feed-1',
    signature: 'A'.repeat(86),
  },
  { type: 'site', ...siteState },
  issuerLine,
  { ...issuerLine, keys: [], scope: null, status: 'distrusted', distrusted_at: null, compromised: [] },
  { type: 'user', ppid: PPID, revoked_at: AT },
  { type: 'user', ppid: PPID, revoked_at: AT, reinstated_at: LATER },
  { type: 'user', ppid: PPID, revoked_at: AT, reinstated_at: LATER, revoked_again_at: LATER },
  { type: 'credential', credential_id: CREDENTIAL_ID, revoked_at: AT },
  { type: 'token', token_sha256: HASH, revoked_at: AT },
  { type: 'end', lines: 7, sha256: HASH, kid: 'feed-1', signature: 'A'.repeat(86) },
]

/**
 * Variants of a valid value: one member removed, added or replaced by an invalid value, at every
 * level.
 */
function* spoil(good: Json): Generator<[string, Json]> {
  yield ['another member', { ...good, surprise: 1 }]
  for (const [name, value] of Object.entries(good)) {
    const { [name]: _left, ...rest } = good
    yield [`no ${name}`, rest]
    for (const other of ['', 'X Y', -1, 1.5, true, {}, [7]])
      if (other !== value) yield [`${name} = ${JSON.stringify(other)}`, { ...good, [name]: other }]
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [what, child] of spoil(value as Json)) yield [`${name}: ${what}`, { ...good, [name]: child }]
    }
    if (Array.isArray(value) && typeof value[0] === 'object') {
      yield [`${name} twice`, { ...good, [name]: [value[0], value[0]] }]
      for (const [i, item] of value.entries()) {
        for (const [what, child] of spoil(item as Json))
          yield [`${name}.${i}: ${what}`, { ...good, [name]: value.with(i, child) }]
      }
    }
  }
}

function agree(
  good: Json,
  schemaTakes: (value: unknown) => boolean,
  parserTakes: (value: unknown) => boolean,
) {
  expect([schemaTakes(good), parserTakes(good)]).toEqual([true, true])
  let rejected = 0
  for (const [what, value] of spoil(good)) {
    expect(schemaTakes(value), what).toBe(parserTakes(value))
    if (!parserTakes(value)) rejected++
  }
  expect(rejected).toBeGreaterThan(20)
}

const takes = (schema: { safeParse(value: unknown): { success: boolean } }) => (value: unknown) =>
  schema.safeParse(value).success

describe('log entries', () => {
  test.each(entryKinds)('%s: the schema and the reader of the log agree on good and bad', (kind) => {
    agree(
      createEntryOfKind(kind, bodies[kind]),
      takes(logEntrySchema),
      (value) => parseEntry(value) !== undefined,
    )
  })

  test.each([
    ['no cap', { ...issuerState, scope: null, credential_ttl_seconds_max: null }, true],
    ['an empty cap', { ...issuerState, scope: [] }, false],
    ['a scope twice', { ...issuerState, scope: ['a', 'a'] }, false],
    ['no keys', { ...issuerState, keys: [] }, true],
    [
      '33 keys',
      {
        ...issuerState,
        keys: Array.from({ length: 33 }, (_, i) => ({ id: `k${i}`, key: MULTIKEY, status: 'active' })),
      },
      false,
    ],
    [
      'retired without a time',
      { ...issuerState, keys: [{ id: 'a', key: MULTIKEY, status: 'retired' }] },
      false,
    ],
    [
      'active with a time',
      { ...issuerState, keys: [{ id: 'a', key: MULTIKEY, status: 'active', retired_at: AT }] },
      false,
    ],
    ['a label', { ...issuerState, label: 'main' }, false],
  ])('issuer.trusted with %s', (_what, body, good) => {
    const entry = createEntryOfKind('issuer.trusted', body)
    expect([logEntrySchema.safeParse(entry).success, parseEntry(entry) !== undefined]).toEqual([good, good])
  })

  test('of an unknown kind, or with the body of another, are rejected by both', () => {
    for (const entry of [
      createEntryOfKind('user.forgotten', bodies['user.revoked']),
      createEntryOfKind('user.revoked', bodies['user.reinstated']),
      createEntryOfKind('heartbeat', {}),
    ]) {
      expect([logEntrySchema.safeParse(entry).success, parseEntry(entry)]).toEqual([false, undefined])
    }
  })
})

describe('heartbeats and snapshots', () => {
  test('heartbeat: the schema and the reader agree', () => {
    agree(heartbeat, takes(heartbeatSchema), (value) => parseHeartbeat(value) !== undefined)
  })

  test.each(lines.map((line) => [line.type, line] as const))(
    '%s line: the schema and the reader agree',
    (_type, line) => {
      agree(line, takes(snapshotLineSchema), (value) => parseSnapshotLine(value) !== undefined)
    },
  )

  test('a feed carries entries and heartbeats and nothing else', () => {
    for (const data of [heartbeat, createEntryOfKind('user.revoked', bodies['user.revoked'])])
      expect(feedEventDataSchema.safeParse(data).success).toBe(true)
    expect(feedEventDataSchema.safeParse(head).success).toBe(false)
  })
})

describe('webhooks', () => {
  const data = createEntryOfKind('user.revoked', bodies['user.revoked'])

  test('carry the entry under its own kind', () => {
    expect(webhookBodySchema.safeParse({ type: 'user.revoked', timestamp: AT, data }).success).toBe(true)
    expect(webhookBodySchema.safeParse({ type: 'user.reinstated', timestamp: AT, data }).success).toBe(false)
    expect(
      webhookBodySchema.safeParse({ type: 'user.revoked', timestamp: AT, data, reason: 'x' }).success,
    ).toBe(false)
  })

  test('are tested with a message that is no entry', () => {
    const sent = { type: 'webhook.test', timestamp: AT, data: { site_id: SITE, webhook_id: 'wh_1' } }
    expect(webhookTestBodySchema.safeParse(sent).success).toBe(true)
    expect(webhookBodySchema.safeParse(sent).success).toBe(false)
    expect(webhookTestBodySchema.safeParse({ ...sent, type: 'user.revoked' }).success).toBe(false)
    expect(webhookTestBodySchema.safeParse({ ...sent, data }).success).toBe(false)
  })

  test('come with the three headers of Standard Webhooks', () => {
    const headers = {
      'webhook-id': `${SITE}.${EPOCH}.1`,
      'webhook-timestamp': '1794657600',
      'webhook-signature': `v1,${'A'.repeat(43)}=`,
    }
    expect(webhookHeadersSchema.safeParse({ ...headers, 'user-agent': 'x' }).success).toBe(true)
    expect(
      webhookHeadersSchema.safeParse({
        ...headers,
        'webhook-signature': `v1,${'A'.repeat(43)}= v1,${'B'.repeat(43)}=`,
      }).success,
    ).toBe(true)
    expect(webhookHeadersSchema.safeParse({ ...headers, 'webhook-signature': 'A'.repeat(43) }).success).toBe(
      false,
    )
  })
})
