import { encodeBase64url } from '../encoding/base64url.ts'
import type { JsonObject } from '../encoding/json.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { CREDENTIAL_HEADER_CHARS_MAX } from './limits.ts'

export const CREDENTIAL_HEADER = 'x-service-credential'

/**
 * The header value that carries a signed credential. Throws a RangeError for one that no verifier
 * would take.
 */
export function credentialHeader(signed: JsonObject): string {
  const text = encodeBase64url(encodeUtf8(JSON.stringify(signed)))
  if (text.length > CREDENTIAL_HEADER_CHARS_MAX) {
    throw new RangeError(
      `this credential takes ${text.length} characters in a header; at most ${CREDENTIAL_HEADER_CHARS_MAX} are read`,
    )
  }
  return text
}
