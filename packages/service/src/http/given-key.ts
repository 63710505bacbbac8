import type { Auth } from '@countersign/core/contract'
import { Problem } from '../problem.ts'
import type { RawRequest } from './raw-request.ts'

/** An API key as a caller sent it. Nothing of it has been checked. */
export interface GivenKey {
  readonly secret: string
  /** How it was sent: in X-API-Key, or as OAuth clients send their secrets (RFC 6749 §2.3.1). */
  readonly method: 'header' | 'basic' | 'form'
  /** The `client_id` of an OAuth client, which must be the id of the key. */
  readonly clientId: string | undefined
}

/** The parameters of a form. */
export type Form = Readonly<Record<string, unknown>>

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The API key of the request. Throws `auth_ambiguous` if it was sent in two ways, and
 * `api_key_invalid` if HTTP Basic cannot be read.
 */
export function findGivenKey(raw: RawRequest, auth: Auth, form: Form | undefined): GivenKey | undefined {
  const [secret] = raw.lines('x-api-key') ?? []
  const isBasic = auth === 'oauth_client' && hasBasic(raw)
  if (secret !== undefined) {
    if (isBasic) throw twoMethods()
    return { secret, method: 'header', clientId: undefined }
  }
  if (!isBasic) return form && findFormKey(form)
  const given = readBasic(raw.lines('authorization')?.[0] ?? '')
  if (given === undefined) throw invalidKeyProblem('basic')
  return given
}

/** Whether a header authenticates the caller, so that its body need not be read for that. */
export function hasKeyHeader(raw: RawRequest): boolean {
  return raw.lines('x-api-key') !== undefined || hasBasic(raw)
}

/** Throws `auth_ambiguous` if the form authenticates the client once more (RFC 6749 §2.3). */
export function requireOneMethod(given: GivenKey | undefined, form: Form): void {
  const isInForm = ['client_secret', 'client_assertion'].some((name) => (form[name] ?? '') !== '')
  if (given !== undefined && given.method !== 'form' && isInForm) throw twoMethods()
}

/** What a route gets of the form: the secret has served its purpose. */
export function withoutClient({ client_id: _id, client_secret: _secret, ...form }: Form): Form {
  return form
}

/** The answer to a key that is unknown or malformed, with the challenge of the method. */
export function invalidKeyProblem(method: GivenKey['method']): Problem {
  if (method === 'header') return new Problem('api_key_invalid')
  const detail =
    'The client_id or the client_secret is invalid. Send the key_id of an API key as client_id, and the key itself as client_secret.'
  if (method === 'form') return new Problem('api_key_invalid', detail)
  const headers = { 'www-authenticate': 'Basic realm="countersign", charset="UTF-8"' }
  return new Problem('api_key_invalid', detail, { headers })
}

function hasBasic({ lines }: RawRequest): boolean {
  return lines('authorization')?.some((line) => /^\s*basic\b/i.test(line)) ?? false
}

function findFormKey({ client_id: clientId, client_secret: secret }: Form): GivenKey | undefined {
  if (typeof secret !== 'string' || secret === '') return undefined
  return { secret, method: 'form', clientId: typeof clientId === 'string' ? clientId : '' }
}

/** Both parts are encoded like a form before they are joined (RFC 6749 §2.3.1). */
function readBasic(authorization: string): GivenKey | undefined {
  const [, encoded] = BASIC.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  // One spelling for each value: no bits behind the end, and complete padding.
  if (bytes.toString('base64') !== encoded) return undefined
  try {
    const text = utf8.decode(bytes)
    const colon = text.indexOf(':')
    if (colon < 0) return undefined
    const clientId = decodeForm(text.slice(0, colon))
    return { secret: decodeForm(text.slice(colon + 1)), method: 'basic', clientId }
  } catch {
    // Not UTF-8, or a percent sign without two digits.
    return undefined
  }
}

function decodeForm(part: string): string {
  return decodeURIComponent(part.replaceAll('+', ' '))
}

function twoMethods(): Problem {
  return new Problem('auth_ambiguous', 'The request authenticates the client in two ways. Use one of them.')
}
