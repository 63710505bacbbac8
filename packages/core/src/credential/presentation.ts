import { type Denial, deny } from './denial.ts'
import { CREDENTIAL_HEADER } from './header.ts'

/**
 * What a request presents: a credential header, a bearer token that still has to be looked up, or
 * an access token of an OAuth issuer.
 */
export type Presentation = { readonly header: string } | { readonly bearer: string } | PresentedJwt

/** An access token of an OAuth issuer, as the caller sent it. */
export interface PresentedJwt {
  readonly jwt: string
  /** The scheme of the `Authorization` header. A token that is bound to a key needs `DPoP`. */
  readonly scheme: 'Bearer' | 'DPoP'
}

const JOINED_TOKEN = /,\s*(?:bearer|dpop)\b|^\s*(?:bearer|dpop)\b.*,/i
const TOKEN = /^(bearer|dpop) ([\x21-\x7e]+)$/i
const JWT_FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

/**
 * Finds the credential or token of a request. `lines` returns all field lines of a lower-case name.
 * Two credentials, two Authorization lines, or a credential with a token are rejected: two readers
 * could choose different ones.
 */
export function findPresentation(
  lines: (name: string) => readonly string[] | undefined,
): Presentation | Denial {
  const credentials = lines(CREDENTIAL_HEADER) ?? []
  const authorizations = lines('authorization') ?? []
  // Some frameworks join repeated lines with commas. Neither base64url nor a token contains a
  // comma, but other schemes do.
  if (credentials.length > 1) return ambiguous('X-Service-Credential was sent more than once. Send it once.')
  if (credentials[0]?.includes(','))
    return ambiguous(
      isJson(credentials[0]) ? RAW_JSON : 'X-Service-Credential was sent more than once. Send it once.',
    )
  const authorization = authorizations[0]
  const isJoined = authorization?.includes(',') && JOINED_TOKEN.test(authorization)
  if (authorizations.length > 1 || isJoined)
    return ambiguous('Authorization was sent more than once. Send it once.')
  const credential = credentials[0]?.trim() ?? ''
  if (credential !== '') {
    // The application may use other schemes.
    if (authorization !== undefined && /^(?:bearer|dpop)\b/i.test(authorization.trim()))
      return ambiguous('The request has a credential and a bearer token. Send one of them.')
    return { header: credential }
  }
  if (authorization === undefined)
    return deny(
      'credential_missing',
      'The request has no credential. Send a signed credential in X-Service-Credential.',
    )
  const [, scheme = '', token] = TOKEN.exec(authorization) ?? []
  if (token === undefined)
    return deny(
      'token_invalid',
      'The Authorization header has no bearer token. Send it as "Authorization: Bearer svc_at_…".',
    )
  const isDpop = scheme.toLowerCase() === 'dpop'
  if (isJwtForm(token)) return { jwt: token, scheme: isDpop ? 'DPoP' : 'Bearer' }
  return isDpop
    ? deny(
        'token_invalid',
        'The DPoP scheme needs an access token of an OAuth issuer. Send other tokens as "Authorization: Bearer svc_at_…".',
      )
    : { bearer: token }
}

/** Whether a token has the form of a JWT. Opaque tokens of the service never have. */
export function isJwtForm(token: string): boolean {
  return JWT_FORM.test(token)
}

const RAW_JSON =
  'X-Service-Credential contains raw JSON. Send the base64url encoding of that JSON, without padding.'

export const JWT_MISTAKE =
  'This is an access token, not a credential. It needs no exchange: send it as "Authorization: Bearer …".'

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
    ? 'This is not a bearer token. Send a credential in X-Service-Credential.'
    : undefined
}

/**
 * Detects other values that were sent as a credential, so that the error can say what to change.
 */
export function findCredentialMistake(text: string): string | undefined {
  if (isJson(text)) return RAW_JSON
  if (isJwtForm(text)) return JWT_MISTAKE
  if (text.startsWith('svc_sk_')) return 'This is an API key, not a credential. Send it in X-API-Key.'
  return text.startsWith('svc_at_')
    ? 'This is a bearer token, not a credential. Send it as "Authorization: Bearer svc_at_…".'
    : undefined
}

function ambiguous(detail: string): Denial {
  return deny('auth_ambiguous', detail)
}
