import { encodeBase64url } from '../encoding/base64url.ts'
import type { JsonObject } from '../encoding/json.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { CREDENTIAL_HEADER_CHARS_MAX } from './limits.ts'

export const CREDENTIAL_HEADER = 'x-service-credential'

/**
 * The header value for a signed credential. Throws a RangeError if it is longer than verifiers
 * accept.
 */
export function credentialHeader(signed: JsonObject): string {
  const text = encodeBase64url(encodeUtf8(JSON.stringify(signed)))
  if (text.length > CREDENTIAL_HEADER_CHARS_MAX) {
    throw new RangeError(
      `this credential has ${text.length} characters in a header; at most ${CREDENTIAL_HEADER_CHARS_MAX} are accepted`,
    )
  }
  return text
}
