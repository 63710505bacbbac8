import type { HolderKey } from './holder-key.ts'

/** A request before it is sent. */
export interface PlainRequest {
  readonly method: string
  readonly url: URL
  /** The value of X-Service-Credential, when it is sent. */
  readonly credential?: string
  readonly body: string
}

/**
 * The fields that prove to the service that the holder of this key has made this request, just now
 * and all of it (RFC 9421, RFC 9530): a small version of what the core does, for the one kind of
 * request that pages send.
 */
export async function createProofFields(
  { method, url, credential, body }: PlainRequest,
  key: HolderKey,
  nowMs: number,
): Promise<Record<string, string>> {
  const digest = `sha-256=:${base64(await crypto.subtle.digest('SHA-256', toBytes(body)))}:`
  const covered: readonly (readonly [name: string, value: string])[] = [
    ['@method', method],
    ['@authority', url.host],
    ['@path', url.pathname],
    ['@query', url.search || '?'],
    ...(credential === undefined ? [] : [['x-service-credential', credential] as const]),
    ['content-digest', digest],
  ]
  const nonce = base64(crypto.getRandomValues(new Uint8Array(18)).buffer)
  const names = covered.map(([name]) => `"${name}"`).join(' ')
  const input = `(${names});created=${Math.floor(nowMs / 1000)};nonce="${nonce}";keyid="${key.did}";tag="service-credential"`
  const base = [
    ...covered.map(([name, value]) => `"${name}": ${value}`),
    `"@signature-params": ${input}`,
  ].join('\n')
  const signature = await crypto.subtle.sign({ name: 'Ed25519' }, key.privateKey, toBytes(base))
  return {
    'content-digest': digest,
    'signature-input': `sig1=${input}`,
    signature: `sig1=:${base64(signature)}:`,
  }
}

/** A signed credential as X-Service-Credential carries it. */
export function credentialHeader(document: object): string {
  return base64(toBytes(JSON.stringify(document)).buffer)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function base64(bytes: ArrayBuffer): string {
  return btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(''))
}
