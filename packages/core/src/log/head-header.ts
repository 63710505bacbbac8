import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { parseJson } from '../encoding/json.ts'
import { decodeUtf8, encodeUtf8 } from '../encoding/utf8.ts'
import { type Heartbeat, parseHeartbeat } from './signed-head.ts'

/** More than any heartbeat takes. */
export const HEAD_HEADER_CHARS_MAX = 2048

/** A signed heartbeat for the header `X-Verifier-Head`: base64url of its JSON. */
export function encodeHeadHeader(heartbeat: Heartbeat): string {
  return encodeBase64url(encodeUtf8(JSON.stringify(heartbeat)))
}

/** Undefined for anything but a heartbeat in its grammar. Says nothing about the signature. */
export function parseHeadHeader(text: string): Heartbeat | undefined {
  const bytes = text.length <= HEAD_HEADER_CHARS_MAX ? decodeBase64url(text) : undefined
  const json = bytes && decodeUtf8(bytes)
  const parsed = json === undefined ? undefined : parseJson(json, { depthMax: 1 })
  return parsed !== undefined && 'value' in parsed ? parseHeartbeat(parsed.value) : undefined
}
