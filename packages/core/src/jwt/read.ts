import { decodeBase64url } from '../encoding/base64url.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../encoding/json.ts'
import { decodeUtf8, encodeUtf8 } from '../encoding/utf8.ts'

/** Longer tokens are rejected unread. */
export const JWT_CHARS_MAX = 8192
const DEPTH_MAX = 16

/** A JWT in compact form, read but not verified. */
export interface UnverifiedJwt {
  readonly header: JsonObject
  readonly claims: JsonObject
  /** `header.payload`, the text that is signed. */
  readonly signingInput: string
  readonly signature: Uint8Array
}

/**
 * Header members that name a key or a key server of the sender's choice, or that change how the
 * token is to be read. No access token needs them; a DPoP proof needs `jwk`.
 */
const FORBIDDEN_HEADERS = ['jku', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc', 'cty']

/**
 * Undefined unless the text is three parts of canonical base64url: a header and claims in strict
 * JSON (no duplicate members), and a signature. Encrypted and nested tokens, and headers that bring
 * their own key, are rejected.
 */
export function readJwt(text: string): UnverifiedJwt | undefined {
  const jwt = readJwtWithKey(text)
  return jwt !== undefined && Object.hasOwn(jwt.header, 'jwk') ? undefined : jwt
}

/** The same for a token that may bring its own key, as a DPoP proof does. */
export function readJwtWithKey(text: string): UnverifiedJwt | undefined {
  if (text.length > JWT_CHARS_MAX) return undefined
  const [headerText, payloadText, signatureText, ...more] = text.split('.')
  if (!headerText || !payloadText || !signatureText || more.length > 0) return undefined
  const header = readObject(headerText)
  if (header === undefined || FORBIDDEN_HEADERS.some((name) => Object.hasOwn(header, name))) return undefined
  const claims = readObject(payloadText)
  const signature = decodeBase64url(signatureText)
  if (claims === undefined || signature === undefined) return undefined
  return { header, claims, signingInput: `${headerText}.${payloadText}`, signature }
}

export function toSignedBytes({ signingInput }: UnverifiedJwt): Uint8Array {
  return encodeUtf8(signingInput)
}

function readObject(part: string): JsonObject | undefined {
  const bytes = decodeBase64url(part)
  const text = bytes && decodeUtf8(bytes)
  if (text === undefined) return undefined
  const parsed = parseJson(text, { depthMax: DEPTH_MAX })
  const value: JsonValue | undefined = 'value' in parsed ? parsed.value : undefined
  return isJsonObject(value) ? value : undefined
}
