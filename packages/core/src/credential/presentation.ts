import { type Denial, deny } from './denial.ts'
import { CREDENTIAL_HEADER } from './header.ts'

/**
 * What a request presents: a credential header, or a bearer token that still has to be looked up.
 */
export type Presentation = { readonly header: string } | { readonly bearer: string }

const JOINED_BEARER = /,\s*bearer\b|^\s*bearer\b.*,/i
const BEARER = /^bearer ([\x21-\x7e]+)$/i

/**
 * Finds the credential or bearer token of a request. `lines` returns all field lines of a
 * lower-case name. Two credentials, two Authorization lines, or a credential with a bearer token
 * are rejected: two readers could choose different ones.
 */
export function findPresentation(
  lines: (name: string) => readonly string[] | undefined,
): Presentation | Denial {
  const credentials = lines(CREDENTIAL_HEADER) ?? []
  const authorizations = lines('authorization') ?? []
  // Some frameworks join repeated lines with commas. Neither base64url nor a token contains a
  // comma, but other schemes do.
  if (credentials.length > 1) return ambiguous('send X-Service-Credential once')
  if (credentials[0]?.includes(','))
    return ambiguous(isJson(credentials[0]) ? RAW_JSON : 'send X-Service-Credential once')
  const authorization = authorizations[0]
  const isJoined = authorization?.includes(',') && JOINED_BEARER.test(authorization)
  if (authorizations.length > 1 || isJoined) return ambiguous('send Authorization once')
  const credential = credentials[0]?.trim() ?? ''
  if (credential !== '') {
    // The application may use other schemes.
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
  'X-Service-Credential contains raw JSON; send the base64url encoding of that JSON, without padding'

function isJson(text: string): boolean {
  return text.trimStart().startsWith('{')
}

/**
 * Detects a credential that was sent as a bearer token. All other invalid tokens get the same
 * answer, whatever their prefix (A132).
 */
export function findBearerMistake(token: string): string | undefined {
  // base64url of `{"`.
  return token.startsWith('eyJ')
    ? 'this is not a bearer token; send a credential in X-Service-Credential'
    : undefined
}

/**
 * Detects other values that were sent as a credential, so that the error can say what to change.
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
