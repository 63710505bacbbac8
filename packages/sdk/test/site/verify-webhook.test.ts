import { randomBytes } from 'node:crypto'
import { createEntry, formatTime, GENESIS_HASH } from '@countersign/core'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { type VerifyWebhookOptions, verifyWebhook, WebhookError } from '../../src/site/verify-webhook.ts'

const NOW = Date.UTC(2026, 10, 14, 12, 0, 0)
const SECRET = `whsec_${randomBytes(24).toString('base64')}`
const OTHER = `whsec_${randomBytes(24).toString('base64')}`
const CREDENTIAL_ID = 'cred_01k9x3v0h2e8y6q4b7d5m1n8ra'

const entry = await createEntry(
  {
    siteId: 'shop.example' as never,
    kind: 'credential.revoked',
    body: { credential_id: CREDENTIAL_ID as never, revoked_at: formatTime(NOW) },
    at: formatTime(NOW),
  },
  { epoch: '0123456789abcdef', seq: 0, hash: GENESIS_HASH },
)
const BODY = JSON.stringify({ type: entry.kind, timestamp: entry.at, data: entry })
const ID = 'shop.example.0123456789abcdef.1'

/** A delivery, signed by the library that receivers elsewhere would use. */
function delivery({ body = BODY, secret = SECRET, sentAtMs = NOW, id = ID } = {}) {
  const signature = new Webhook(secret).sign(id, new Date(sentAtMs), body)
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAtMs / 1000)),
    'webhook-signature': signature,
  }
  return { secret: SECRET, headers, body, nowMs: NOW } satisfies VerifyWebhookOptions
}

const refused = (code: string) => expect.objectContaining({ name: 'WebhookError', code })

describe('a good delivery', () => {
  test('gives the entry, with the id to handle it once', async () => {
    const event = await verifyWebhook(delivery())
    expect(event).toEqual({ id: ID, type: 'credential.revoked', timestamp: entry.at, data: entry })
    if (event.type === 'credential.revoked') expectTypeOf(event.data.body.credential_id).toExtend<string>()
  })

  test('may be a test, which is no entry', async () => {
    const data = { site_id: 'shop.example', webhook_id: 'wh_1' }
    const sent = { type: 'webhook.test', timestamp: formatTime(NOW), data }
    const given = (body: object) => delivery({ id: 'test_1', body: JSON.stringify(body) })
    expect(await verifyWebhook(given(sent))).toEqual({ id: 'test_1', ...sent })
    for (const wrong of [
      { timestamp: 1 },
      { data: null },
      { data: {} },
      { data: { ...data, webhook_id: 1 } },
    ])
      await expect(verifyWebhook(given({ ...sent, ...wrong }))).rejects.toMatchObject({
        code: 'body_unknown',
      })
    await expect(verifyWebhook({ ...given(sent), secret: OTHER })).rejects.toMatchObject({
      code: 'signature_invalid',
    })
  })

  test('may come as bytes, with Headers or with the headers of Node in any case', async () => {
    const { headers, ...rest } = delivery()
    const body = new TextEncoder().encode(BODY)
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    )
    for (const form of [new Headers(headers), headers, upper])
      expect((await verifyWebhook({ ...rest, body, headers: form })).id).toBe(ID)
  })

  test('is accepted with a secret without its prefix', async () => {
    await verifyWebhook({ ...delivery(), secret: SECRET.slice('whsec_'.length) })
  })

  test('is accepted up to five minutes after and before its time, and no further', async () => {
    for (const seconds of [0, 299, 300, -300])
      await verifyWebhook({ ...delivery(), nowMs: NOW + seconds * 1000 })
    for (const seconds of [301, -301]) {
      await expect(verifyWebhook({ ...delivery(), nowMs: NOW + seconds * 1000 })).rejects.toThrow(
        refused('timestamp_out_of_range'),
      )
    }
  })
})

describe('A209', () => {
  test('a replay after five minutes is refused', async () => {
    const replayed = { ...delivery(), nowMs: NOW + 300_001 }
    await expect(verifyWebhook(replayed)).rejects.toThrow(refused('timestamp_out_of_range'))
    // The control arm: only the age is wrong with it.
    await verifyWebhook({ ...replayed, toleranceSeconds: 301 })
  })

  test('a replay with a new time is refused, since the time is signed', async () => {
    const { headers, ...rest } = delivery()
    const nowMs = NOW + 600_000
    const fresh = { ...headers, 'webhook-timestamp': String(nowMs / 1000) }
    await expect(verifyWebhook({ ...rest, headers: fresh, nowMs })).rejects.toThrow(
      refused('signature_invalid'),
    )
  })

  test('the secret of another endpoint is refused', async () => {
    await expect(verifyWebhook(delivery({ secret: OTHER }))).rejects.toThrow(refused('signature_invalid'))
    await verifyWebhook({ ...delivery({ secret: OTHER }), secret: OTHER })
  })

  test('a truncated, extended or empty signature is refused at every length', async () => {
    const { headers, ...rest } = delivery()
    const whole = headers['webhook-signature']
    const spoiled = Array.from({ length: whole.length }, (_, length) => whole.slice(0, length)).filter(
      (text) => text !== '',
    )
    for (const signature of [
      ...spoiled,
      `${whole}=`,
      `${whole}A`,
      whole.replace('v1,', 'v2,'),
      whole.slice(3),
      `v1${whole}`,
    ]) {
      await expect(
        verifyWebhook({ ...rest, headers: { ...headers, 'webhook-signature': signature } }),
      ).rejects.toThrow(refused('signature_invalid'))
    }
  })

  test('of several signatures one that fits is enough', async () => {
    const { headers, ...rest } = delivery()
    const other = delivery({ secret: OTHER }).headers['webhook-signature']
    const both = { ...headers, 'webhook-signature': `${other} ${headers['webhook-signature']}` }
    await verifyWebhook({ ...rest, headers: both })
    await verifyWebhook({ ...rest, headers: both, secret: OTHER })
    await verifyWebhook({ ...rest, headers: { ...headers, 'webhook-signature': other }, secrets: [OTHER] })
    await expect(
      verifyWebhook({ ...rest, headers: { ...headers, 'webhook-signature': `${other} ${other}` } }),
    ).rejects.toThrow(refused('signature_invalid'))
  })

  test('a changed body or id is refused', async () => {
    const { headers, ...rest } = delivery()
    await expect(verifyWebhook({ ...rest, headers, body: BODY.replace('shop', 'shoq') })).rejects.toThrow(
      refused('signature_invalid'),
    )
    await expect(verifyWebhook({ ...rest, headers, body: `${BODY} ` })).rejects.toThrow(
      refused('signature_invalid'),
    )
    await expect(verifyWebhook({ ...rest, headers: { ...headers, 'webhook-id': `${ID}1` } })).rejects.toThrow(
      refused('signature_invalid'),
    )
  })

  test('a header that is missing, doubled or unreadable is refused', async () => {
    const { headers, ...rest } = delivery()
    for (const name of Object.keys(headers) as (keyof typeof headers)[]) {
      for (const value of [undefined, '', [], [headers[name], headers[name]]]) {
        await expect(verifyWebhook({ ...rest, headers: { ...headers, [name]: value } })).rejects.toThrow(
          refused('headers_malformed'),
        )
      }
    }
    for (const time of ['now', '1.5', '-1', '0x10', `${NOW / 1000}, ${NOW / 1000}`]) {
      const spoiled = { ...headers, 'webhook-timestamp': time }
      await expect(verifyWebhook({ ...rest, headers: spoiled })).rejects.toThrow(refused('headers_malformed'))
    }
  })
})

test('a signed body that is no entry of this version is told from a forged one', async () => {
  const unknown = JSON.stringify({
    type: 'site.sold',
    timestamp: entry.at,
    data: { ...entry, kind: 'site.sold' },
  })
  const contradicting = JSON.stringify({ type: 'user.revoked', timestamp: entry.at, data: entry })
  for (const body of ['', '[]', 'null', '{', unknown, contradicting, `${BODY}x`]) {
    await expect(verifyWebhook(delivery({ body }))).rejects.toThrow(refused('body_unknown'))
  }
})

test('misuse is a TypeError that does not repeat the secret', async () => {
  const good = delivery()
  for (const secret of ['', 'whsec_', 'whsec_short', 'whsec_%%%%']) {
    await expect(verifyWebhook({ ...good, secret })).rejects.toThrow(
      new TypeError('the secret must be whsec_… as it was shown'),
    )
  }
  await expect(verifyWebhook({ headers: good.headers, body: BODY })).rejects.toThrow(TypeError)
  await expect(verifyWebhook({ ...good, body: JSON.parse(BODY) })).rejects.toThrow(/raw body/)
  expect(new WebhookError('signature_invalid', 'x')).toBeInstanceOf(Error)
})

test('agrees with standardwebhooks on any id, body, secret and signature list, both ways', async () => {
  const now = Math.floor(Date.now() / 1000) * 1000
  const line = fc.string({
    minLength: 1,
    maxLength: 40,
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        id: line,
        body: fc.string({ unit: 'grapheme' }),
        secretOfSender: fc.constantFrom(SECRET, OTHER),
        secretOfReceiver: fc.constantFrom(SECRET, OTHER),
        noise: fc.constantFrom('', 'v1,AAAA ', 'v1a,x ', ' ', 'v2,abc '),
        cut: fc.constantFrom(0, 0, 0, 1, 4),
      }),
      async ({ id, body, secretOfSender, secretOfReceiver, noise, cut }) => {
        const signature = noise + new Webhook(secretOfSender).sign(id, new Date(now), body)
        const headers = {
          'webhook-id': id,
          'webhook-timestamp': String(now / 1000),
          'webhook-signature': signature.slice(0, signature.length - cut),
        }
        let theirs = true
        try {
          new Webhook(secretOfReceiver).verify(body, headers, { jsonParse: false })
        } catch {
          theirs = false
        }
        const ours = await verifyWebhook({ secret: secretOfReceiver, headers, body, nowMs: now }).catch(
          (error: unknown) => error,
        )
        // Ours goes on to read the body, which is nonsense here.
        expect(ours).toMatchObject({ code: theirs ? 'body_unknown' : 'signature_invalid' })
      },
    ),
    { numRuns: 300 },
  )
})
