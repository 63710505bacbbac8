import { isJsonObject, type JsonObject, parseJson } from '../encoding/json.ts'
import { decodeUtf8, encodeUtf8 } from '../encoding/utf8.ts'
import type { SignedCredential } from './credential.ts'
import type { Denial } from './denial.ts'
import { BODY_MEMBERS_MAX, CREDENTIAL_BYTES_MAX, CREDENTIAL_MEMBERS_MAX, JSON_DEPTH_MAX } from './limits.ts'
import { readCredentialObject } from './read.ts'

/** A parsed request body. `credential` is the parsed member of that name, if the body has one. */
export interface CredentialBody {
  readonly members: JsonObject
  readonly credential: SignedCredential | Denial | undefined
}

export interface BodyFault {
  readonly code: 'request_malformed' | 'credential_malformed' | 'request_too_large'
  readonly detail: string
}

/**
 * Parses a JSON request body that may have a signed credential in its member `credential`, with the
 * same strict parser as the header. A JSON fault inside that member is `credential_malformed`,
 * anywhere else `request_malformed`. A credential over its size limit is rejected before it is
 * parsed.
 */
export function readCredentialBody(bytes: Uint8Array): CredentialBody | BodyFault {
  const text = decodeUtf8(bytes)
  if (text === undefined) return { code: 'request_malformed', detail: 'The body is not UTF-8. Send UTF-8.' }
  // One level more than in a header, because the body encloses the credential.
  const parsed = parseJson(text, {
    depthMax: JSON_DEPTH_MAX + 1,
    membersMax: BODY_MEMBERS_MAX,
    watch: 'credential',
    watchedMembersMax: CREDENTIAL_MEMBERS_MAX,
  })
  if ('fault' in parsed) {
    const code = parsed.member === 'credential' ? 'credential_malformed' : 'request_malformed'
    return {
      code,
      detail: `The body is not strict JSON: ${parsed.fault} near offset ${parsed.offset}. Correct it.`,
    }
  }
  const { value, watched } = parsed
  if (!isJsonObject(value))
    return { code: 'request_malformed', detail: 'The body is not a JSON object. Send an object.' }
  if (watched === undefined) return { members: value, credential: undefined }
  if (byteLength(text, watched) > CREDENTIAL_BYTES_MAX) {
    return {
      code: 'request_too_large',
      detail: `The credential has more than ${CREDENTIAL_BYTES_MAX} bytes. Send a smaller one.`,
    }
  }
  return { members: value, credential: readCredentialObject(value.credential ?? null) }
}

function byteLength(text: string, { start, end }: { start: number; end: number }): number {
  // A character has at least one byte, so a long text is too large without encoding it.
  const characters = end - start
  return characters > CREDENTIAL_BYTES_MAX ? characters : encodeUtf8(text.slice(start, end)).length
}
