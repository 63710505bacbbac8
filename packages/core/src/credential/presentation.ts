import { type Denial, deny } from './denial.ts'
import { CREDENTIAL_HEADER } from './header.ts'

/**
 * The one thing that a request presents: a credential header, or a bearer token that is still to be
 * looked up.
 */
export type Presentation = { readonly header: string } | { readonly bearer: string }

const JOINED_BEARER = /,\s*bearer\b|^\s*bearer\b.*,/i
const BEARER = /^bearer ([\x21-\x7e]+)$/i

/**
 * Finds out what a request presents. `lines` gives every field line of a lower-case name. Two
 * credentials, two Authorization lines, or a credential and a bearer token together are rejected: a
 * reader that picks one of two can be made to pick the wrong one.
 */
export function findPresentation(
  lines: (name: string) => readonly string[] | undefined,
): Presentation | Denial {
  const credentials = lines(CREDENTIAL_HEADER) ?? []
  const authorizations = lines('authorization') ?? []
  // Some frameworks hand over repeated lines joined by commas. Neither base64url nor a token has a
  // comma; other schemes have them by right.
  if (credentials.length > 1) return ambiguous('send X-Service-Credential once')
  if (credentials[0]?.includes(','))
    return ambiguous(isJson(credentials[0]) ? RAW_JSON : 'send X-Service-Credential once')
  const authorization = authorizations[0]
  const isJoined = authorization?.includes(',') && JOINED_BEARER.test(authorization)
  if (authorizations.length > 1 || isJoined) return ambiguous('send Authorization once')
  const credential = credentials[0]?.trim() ?? ''
  if (credential !== '') {
    // Other schemes may be the application's own business.
    if (authorization !== undefined && /^bearer\b/i.test(authorization.trim()))
      return ambiguous('send either a credential or a bearer token')
    return { header: credential }
  }
  if (authorization === undefined)
    return deny('credential_missing', 'send a signed credential in X-Service-Credential')
  const bearer = BEARER.exec(authorization)?.[1]
  return bearer === undefined
    ? deny('token_invalid', 'send the token as "Authorization: Bearer svc_at_…"')
    : { bearer }
}

const RAW_JSON =
  'X-Service-Credential holds JSON as it is; send the base64url encoding of that JSON, without padding'

function isJson(text: string): boolean {
  return text.trimStart().startsWith('{')
}

/**
 * Recognises a credential that was sent as a bearer token. Every other text that is no token gets
 * one answer, whatever its prefix (A132).
 */
export function findBearerMistake(token: string): string | undefined {
  // base64url of `{"`.
  return token.startsWith('eyJ')
    ? 'this is not a bearer token; send a credential in X-Service-Credential'
    : undefined
}

/**
 * Recognises what was sent in the place of a credential by its first characters, so that the answer
 * can say what to correct.
 */
export function findCredentialMistake(text: string): string | undefined {
  if (isJson(text)) return RAW_JSON
  if (text.startsWith('svc_sk_')) return 'this is an API key, not a credential; send it in X-API-Key'
  return text.startsWith('svc_at_')
    ? 'this is a bearer token, not a credential; send it as "Authorization: Bearer svc_at_…"'
    : undefined
}

function ambiguous(detail: string): Denial {
  return deny('auth_ambiguous', detail)
}
