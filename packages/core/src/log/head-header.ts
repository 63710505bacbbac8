import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { parseJson } from '../encoding/json.ts'
import { decodeUtf8, encodeUtf8 } from '../encoding/utf8.ts'
import { type Heartbeat, parseHeartbeat } from './signed-head.ts'

/** Every heartbeat is shorter. */
export const HEAD_HEADER_CHARS_MAX = 2048

/** The value of the header `X-Verifier-Head`: base64url of the JSON of a signed heartbeat. */
export function encodeHeadHeader(heartbeat: Heartbeat): string {
  return encodeBase64url(encodeUtf8(JSON.stringify(heartbeat)))
}

/** Undefined unless the text is a well-formed heartbeat. Does not check the signature. */
export function parseHeadHeader(text: string): Heartbeat | undefined {
  const bytes = text.length <= HEAD_HEADER_CHARS_MAX ? decodeBase64url(text) : undefined
  const json = bytes && decodeUtf8(bytes)
  const parsed = json === undefined ? undefined : parseJson(json, { depthMax: 1 })
  return parsed !== undefined && 'value' in parsed ? parseHeartbeat(parsed.value) : undefined
}
