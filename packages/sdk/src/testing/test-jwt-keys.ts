import {
  encodeBase64url,
  type JsonObject,
  type OAuthIssuerState,
  parseJwtKey,
  sha256Hex,
  toKeyText,
  toThumbprint,
} from '@countersign/core'

export type TestJwtAlgorithm = 'RS256' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA'

/** A key that signs JWTs, and how a site's log lists it. */
export interface SigningKey {
  readonly kid: string
  readonly jwk: JsonObject
  readonly state: OAuthIssuerState['keys'][number]
  sign(text: string): Promise<string>
}

const RSA = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }
const SALT_BYTES = 32
type Parameters = { readonly name: string; readonly [parameter: string]: unknown }
/** The parameters of WebCrypto: those of a new key, and those of a signature. */
const ALGORITHMS: Readonly<Record<TestJwtAlgorithm, readonly [Parameters, Parameters]>> = {
  RS256: [{ name: 'RSASSA-PKCS1-v1_5', ...RSA }, { name: 'RSASSA-PKCS1-v1_5' }],
  PS256: [
    { name: 'RSA-PSS', ...RSA },
    { name: 'RSA-PSS', saltLength: SALT_BYTES },
  ],
  ES256: [
    { name: 'ECDSA', namedCurve: 'P-256' },
    { name: 'ECDSA', hash: 'SHA-256' },
  ],
  ES384: [
    { name: 'ECDSA', namedCurve: 'P-384' },
    { name: 'ECDSA', hash: 'SHA-384' },
  ],
  EdDSA: [{ name: 'Ed25519' }, { name: 'Ed25519' }],
}

export async function createSigningKey(algorithm: TestJwtAlgorithm): Promise<SigningKey> {
  if (!Object.hasOwn(ALGORITHMS, algorithm))
    throw new TypeError(`algorithm must be one of ${Object.keys(ALGORITHMS).join(', ')}`)
  const [keyParameters, parameters] = ALGORITHMS[algorithm]
  const { subtle } = globalThis.crypto
  const pair = await subtle.generateKey(keyParameters, false, ['sign', 'verify'])
  if (!('privateKey' in pair)) throw new TypeError('this runtime cannot create such a key')
  const { kty, crv, n, e, x, y } = await subtle.exportKey('jwk', pair.publicKey)
  const jwk = withoutUndefined({ kty, crv, n, e, x, y, alg: algorithm, use: 'sig' })
  const parsed = parseJwtKey(jwk)
  if (parsed === undefined) throw new TypeError('this runtime cannot create such a key')
  const id = await toThumbprint(parsed.jwk)
  return {
    kid: id,
    jwk: { ...jwk, kid: id },
    state: { id, kid: id, key: toKeyText(parsed), status: 'active' },
    async sign(text) {
      const bytes = new TextEncoder().encode(text)
      return encodeBase64url(new Uint8Array(await subtle.sign(parameters, pair.privateKey, bytes)))
    },
  }
}

export async function signJwt(header: JsonObject, claims: JsonObject, key: SigningKey): Promise<string> {
  const part = (value: JsonObject) => encodeBase64url(new TextEncoder().encode(JSON.stringify(value)))
  const signingInput = `${part(header)}.${part(claims)}`
  return `${signingInput}.${await key.sign(signingInput)}`
}

export async function sha256Base64url(text: string): Promise<string> {
  const hex = await sha256Hex(text)
  return encodeBase64url(Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)))
}

/** The members that have a value. */
export function withoutUndefined(values: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as unknown as JsonObject
}
