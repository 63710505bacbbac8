import { createHash } from 'node:crypto'
import type { ExpectedHolder } from '../../src/holder/check.ts'
import type { HolderRequest } from '../../src/holder/request.ts'
import { didKey } from '../../src/proof/did.ts'
import type { PrivateKey } from '../../src/proof/keys.ts'

/** A request in a test: lower-case field names, and a list for several lines. */
export interface Sent {
  readonly method: string
  readonly scheme?: 'http' | 'https'
  readonly authority: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Uint8Array | 'none' | 'unseen'
}

export const NOW_MS = Date.UTC(2026, 10, 14, 12, 0, 0, 500)
export const NOW_SECONDS = Math.floor(NOW_MS / 1000)
export const NONCE_A = 'AAAAAAAAAAAAAAAAAAAAAAAA'

export const GET: Sent = {
  method: 'GET',
  authority: 'shop.example',
  path: '/orders/7',
  query: '?a=1&b=2',
  headers: { 'x-service-credential': 'eyJmb28iOiJiYXIifQ', accept: 'application/json' },
  body: 'none',
}
export const BODY = new TextEncoder().encode('{"hello": "world"}')
export const POST: Sent = {
  ...GET,
  method: 'POST',
  headers: { ...GET.headers, 'content-digest': toDigest(BODY) },
  body: BODY,
}

export function toDigest(body: Uint8Array, algorithm: 'sha-256' | 'sha-512' = 'sha-256'): string {
  return `${algorithm}=:${createHash(algorithm.replace('-', '')).update(body).digest('base64')}:`
}

export function received({ headers, ...sent }: Sent): HolderRequest {
  return {
    ...sent,
    header: (name) => {
      const value = Object.hasOwn(headers, name) ? headers[name] : undefined
      return value === undefined ? undefined : typeof value === 'string' ? [value] : value
    },
  }
}

export function toExpected(key: PrivateKey, more: Partial<ExpectedHolder> = {}): ExpectedHolder {
  return {
    holderKey: key.publicKey,
    holderDid: didKey(key.publicKey),
    nowMs: NOW_MS,
    credentialHeaderSent: true,
    ...more,
  }
}

export interface Forgery {
  /** Written without escaping, for example `"@method"`. */
  readonly covered?: readonly string[]
  /** Written without escaping; undefined omits a parameter. */
  readonly params?: Readonly<Record<string, string | undefined>>
  readonly label?: string
  /** Sign this request instead of the one that is sent. */
  readonly signAs?: Sent
  readonly signer?: Pick<PrivateKey, 'sign'>
  /** The components in the signature base, if they differ from `Signature-Input`. */
  readonly lines?: readonly string[]
  /** Values in the signature base for components that the request does not have. */
  readonly invented?: Readonly<Record<string, string>>
}

export const COVERED = ['"@method"', '"@authority"', '"@path"', '"@query"', '"x-service-credential"']

/**
 * Creates a proof without the code under test, with any part wrong on purpose. Returns the request
 * with it.
 */
export async function forged(sent: Sent, key: PrivateKey, forgery: Forgery = {}): Promise<Sent> {
  const {
    covered = defaultCovered(sent),
    params = {},
    label = 'sig1',
    signAs = sent,
    signer = key,
    invented = {},
    lines = covered,
  } = forgery
  const all = {
    created: `${NOW_SECONDS}`,
    nonce: `"${NONCE_A}"`,
    keyid: `"${didKey(key.publicKey)}"`,
    tag: '"service-credential"',
    ...params,
  }
  const tail = Object.entries(all).map(([name, value]) => (value === undefined ? '' : `;${name}=${value}`))
  const input = `(${covered.join(' ')})${tail.join('')}`
  const base = lines.map(
    (component) => `${component}: ${invented[component] ?? signedValue(component, signAs)}`,
  )
  const signature = await signer.sign(
    new TextEncoder().encode([...base, `"@signature-params": ${input}`].join('\n')),
  )
  const headers = {
    ...sent.headers,
    'signature-input': `${label}=${input}`,
    signature: `${label}=:${Buffer.from(signature).toString('base64')}:`,
  }
  return { ...sent, headers }
}

function defaultCovered({ headers }: Sent): readonly string[] {
  const here = COVERED.filter(
    (component) => component.startsWith('"@') || headers[component.slice(1, -1)] !== undefined,
  )
  return headers['content-digest'] === undefined ? here : [...here, '"content-digest"']
}

function signedValue(component: string, sent: Sent): string {
  const name = component.split('"')[1] ?? ''
  if (name === '@method') return sent.method
  if (name === '@authority') return sent.authority
  if (name === '@path') return sent.path
  if (name === '@query') return sent.query === '' ? '?' : sent.query
  return [sent.headers[name]].flat().join(', ')
}

/** The same request with one field replaced, or without it. */
export function withHeader(sent: Sent, name: string, value: string | readonly string[] | undefined): Sent {
  const { [name]: _, ...others } = sent.headers
  return { ...sent, headers: value === undefined ? others : { ...others, [name]: value } }
}
