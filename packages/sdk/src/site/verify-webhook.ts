import {
  type Entry,
  type EntryKind,
  isJsonObject,
  type JsonObject,
  parseEntry,
  parseJson,
} from '@countersign/core'
import { joinBytes } from '../shared/bounded-body.ts'
import { requireOptions } from '../shared/require-options.ts'
import { isSameText } from './same-text.ts'

export interface VerifyWebhookOptions {
  /**
   * The secret of the webhook, `whsec_…`, as it was shown once. During a change of secret give both
   * in `secrets`.
   */
  readonly secret?: string
  readonly secrets?: readonly string[]
  /** A web-standard `Headers`, or the plain object that Node gives. */
  readonly headers:
    | { get(name: string): string | null }
    | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The raw body, before any JSON parser. */
  readonly body: string | Uint8Array
  readonly nowMs?: number
  /** How far `webhook-timestamp` may lie from now, either way. */
  readonly toleranceSeconds?: number
}

/**
 * One delivery: an entry of the site's log, or a test. `id` is the same for every attempt at it;
 * keep it to handle each entry once.
 */
export type WebhookEvent =
  | {
      [Kind in EntryKind]: {
        readonly id: string
        readonly type: Kind
        readonly timestamp: string
        readonly data: Entry<Kind>
      }
    }[EntryKind]
  | WebhookTestEvent

/** An administrator has tested the webhook. Answer it with 2xx, and do nothing. */
export interface WebhookTestEvent {
  readonly id: string
  readonly type: 'webhook.test'
  readonly timestamp: string
  readonly data: { readonly site_id: string; readonly webhook_id: string }
}

/**
 * `headers_malformed`: not a Standard Webhooks delivery. `timestamp_out_of_range`: too old, perhaps
 * replayed, or from the future. `signature_invalid`: not signed with this secret, or changed on the
 * way. `body_unknown`: signed, but not an entry that this version can read.
 */
export type WebhookErrorCode =
  | 'headers_malformed'
  | 'timestamp_out_of_range'
  | 'signature_invalid'
  | 'body_unknown'

/** An invalid delivery. Answer it with 400. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Verifies a delivery by the rules of Standard Webhooks and returns its event. Throws a
 * `WebhookError` for an invalid delivery, and a TypeError for an invalid secret or a body that was
 * parsed already. A delivery can arrive twice within the tolerance: compare its `id`.
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  requireOptions<VerifyWebhookOptions>('verifyWebhook', options, {
    secret: 'string',
    secrets: 'list',
    headers: 'object',
    body: 'any',
    nowMs: 'number',
    toleranceSeconds: 'number',
  })
  const { headers, body, nowMs = Date.now(), toleranceSeconds = TOLERANCE_SECONDS } = options
  if (headers === undefined) throw new TypeError('headers must be those of the delivery')
  const keys = requireSecrets(options).map(readSecret)
  const bytes = typeof body === 'string' ? encoder.encode(body) : body
  if (!(bytes instanceof Uint8Array))
    throw new TypeError('body must be the raw body, text or bytes, not what a parser made of it')

  const id = requireHeader(headers, 'webhook-id')
  const timestamp = requireHeader(headers, 'webhook-timestamp')
  const signatures = requireHeader(headers, 'webhook-signature')
  if (!TIMESTAMP.test(timestamp))
    throw new WebhookError('headers_malformed', 'webhook-timestamp must be seconds since 1970.')
  // Not inverted: with a time of NaN nothing is accepted.
  const isNow = Math.abs(nowMs / 1000 - Number(timestamp)) <= toleranceSeconds
  if (!isNow)
    throw new WebhookError(
      'timestamp_out_of_range',
      `webhook-timestamp is more than ${toleranceSeconds} s from now. Compare the clocks.`,
    )

  const content = joinBytes([encoder.encode(`${id}.${timestamp}.`), bytes])
  const given = signatures
    .split(' ', SIGNATURES_MAX)
    .flatMap((one) => (one.startsWith('v1,') ? [one.slice(3)] : []))
  let isSigned = false
  // Compares all with all, so that the time does not show which of them matches.
  for (const key of keys) {
    const expected = await computeHmac(key, content)
    for (const signature of given) isSigned = isSameText(signature, expected) || isSigned
  }
  if (!isSigned)
    throw new WebhookError(
      'signature_invalid',
      'No signature matches. The secret is another one, or the body is not what was sent.',
    )
  return readEvent(id, bytes)
}

const TOLERANCE_SECONDS = 300
const TIMESTAMP = /^\d{1,12}$/
/** Enough for a rotation of the secret. */
const SIGNATURES_MAX = 16
/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES_MIN = 24
const DEPTH_MAX = 8

const encoder = /* @__PURE__ */ new TextEncoder()

function requireSecrets({ secret, secrets = [] }: VerifyWebhookOptions): readonly string[] {
  const all = secret === undefined ? secrets : [secret, ...secrets]
  if (all.length === 0) throw new TypeError('give the secret of the webhook')
  return all
}

/** The message never repeats the secret. */
function readSecret(secret: string): Uint8Array {
  const bytes = decodeBase64(typeof secret === 'string' ? secret.replace(/^whsec_/, '') : '')
  if (bytes === undefined || bytes.length < SECRET_BYTES_MIN)
    throw new TypeError('the secret must be whsec_… as it was shown')
  return bytes
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

function requireHeader(headers: VerifyWebhookOptions['headers'], name: string): string {
  const value = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  const [only, more] = typeof value === 'string' ? [value] : (value ?? [])
  if (only === undefined || only === '' || more !== undefined)
    throw new WebhookError('headers_malformed', `The header ${name} must occur once.`)
  return only
}

function isHeaders(
  headers: VerifyWebhookOptions['headers'],
): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function'
}

async function computeHmac(secret: Uint8Array, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const { subtle } = globalThis.crypto
  const key = await subtle.importKey(
    'raw',
    new Uint8Array(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  )
  return btoa(String.fromCharCode(...new Uint8Array(await subtle.sign('HMAC', key, content))))
}

function readEvent(id: string, bytes: Uint8Array): WebhookEvent {
  const json = parseJson(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), { depthMax: DEPTH_MAX })
  const value = 'fault' in json || !isJsonObject(json.value) ? {} : json.value
  if (value.type === 'webhook.test') return readTest(id, value)
  const entry: Entry | undefined = parseEntry(value.data)
  if (entry === undefined || value.type !== entry.kind || typeof value.timestamp !== 'string')
    throw unknownBody()
  return { id, type: entry.kind, timestamp: value.timestamp, data: entry } as WebhookEvent
}

function readTest(id: string, { timestamp, data }: JsonObject): WebhookTestEvent {
  if (typeof timestamp !== 'string' || !isJsonObject(data)) throw unknownBody()
  const { site_id, webhook_id } = data
  if (typeof site_id !== 'string' || typeof webhook_id !== 'string') throw unknownBody()
  return { id, type: 'webhook.test', timestamp, data: { site_id, webhook_id } }
}

function unknownBody(): WebhookError {
  return new WebhookError(
    'body_unknown',
    'The body is signed, but it is not a log entry that this version knows. Update the SDK.',
  )
}
