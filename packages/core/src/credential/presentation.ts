import { type Deny, deny } from './denial.ts'
import { CREDENTIAL_HEADER } from './header.ts'

/** The one thing that a request presents: a credential header, or a bearer token that is still to be looked up. */
export type Presentation = { readonly header: string } | { readonly bearer: string }

const JOINED_BEARER = /,\s*bearer\b|^\s*bearer\b.*,/i
const BEARER = /^bearer ([\x21-\x7e]+)$/i

/**
 * Finds out what a request presents. `lines` gives every field line of a lower-case name. Two credentials, two Authorization lines, or a
 * credential and a bearer token together are refused: whoever picks one of two can be made to pick the wrong one.
 */
export function findPresentation(lines: (name: string) => readonly string[] | undefined): Presentation | Deny {
  const credentials = lines(CREDENTIAL_HEADER) ?? []
  const authorizations = lines('authorization') ?? []
  // Some frameworks hand over repeated lines joined by commas. Neither base64url nor a token has a comma; other schemes have them by right.
  if (credentials.length > 1 || credentials[0]?.includes(',')) return ambiguous('send X-Service-Credential once')
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
  if (authorization === undefined) return deny('credential_missing', 'send a signed credential in X-Service-Credential')
  const bearer = BEARER.exec(authorization)?.[1]
  return bearer === undefined ? deny('token_invalid', 'send the token as "Authorization: Bearer svc_at_…"') : { bearer }
}

function ambiguous(detail: string): Deny {
  return deny('auth_ambiguous', detail)
}
