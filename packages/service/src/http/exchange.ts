import {
  type Allow,
  type CredentialBody,
  findPresentation,
  type HolderRequest,
  isDenial,
  isJwtForm,
  type Presentation,
  type SiteId,
} from '@countersign/core'
import {
  headerNames,
  limits,
  parsePreferWait,
  parseReasonHeader,
  prefersDeniedEverywhere,
  type RequestPart,
  toValidationProblem,
} from '@countersign/core/contract'
import type * as z from 'zod'
import type { Caller } from '../answer.ts'
import type { SignedIn } from '../keys/console-sessions.ts'
import { Problem } from '../problem.ts'
import type { RouteRequest } from '../route.ts'
import { type BodyForm, decodeText, parseJsonBody, parseQuery } from './body.ts'
import type { ConsolePlace } from './console-place.ts'
import type { Form, GivenKey } from './given-key.ts'
import type { RawRequest } from './raw-request.ts'
import type { MountedEndpoint } from './respond.ts'

/**
 * The name under which the service knows itself. The Host header is not used for it, because the
 * sender chooses that.
 */
export type Origin = Pick<HolderRequest, 'authority'> & { readonly scheme: 'http' | 'https' }

/**
 * A request on its way through the pipeline. The steps fill in the members below `rawParams`, each
 * named after the step; until then a member has the value of a request without that part.
 */
export interface Exchange {
  readonly raw: RawRequest
  readonly endpoint: MountedEndpoint
  readonly rawParams: unknown
  /** Whether it came to the copy of the endpoint under `/console/api`. */
  readonly isConsole: boolean
  /** `overload`: whether the request occupies a slot of the load shedder. */
  hasSlot: boolean
  /** `media type` */
  bodyForm: BodyForm
  /** `client form`: whether the body was read before the caller was known. */
  isReadForKey: boolean
  /** `client form` or `schema`: the parameters of a form. */
  form: Form | undefined
  /** `caller`: the API key as it was sent. */
  given: GivenKey | undefined
  caller: Caller
  /** `caller`: the session of the person, in the console. */
  signedIn: SignedIn | undefined
  /** `caller`: the site that the person names. Undefined: all of them, or not in the console. */
  consoleSite: SiteId | undefined
  callerKnownAtMs: number
  /** `path` */
  params: unknown
  /** `presentation`: what the request presents, once it has been parsed. */
  presentation: Presentation | undefined
  /** `headers`: those that the endpoint declares. */
  headers: unknown
  /** `body`: as it was sent. */
  bytes: Uint8Array | undefined
  /** `access`: at endpoints behind the guard. */
  access: Allow | undefined
  /** `schema` */
  query: unknown
  body: unknown
  credentialBody: CredentialBody | undefined
}

export function createExchange(
  raw: RawRequest,
  endpoint: MountedEndpoint,
  rawParams: unknown,
  isConsole = false,
): Exchange {
  return {
    raw,
    endpoint,
    rawParams,
    isConsole,
    hasSlot: false,
    bodyForm: 'none',
    isReadForKey: false,
    form: undefined,
    given: undefined,
    caller: { kind: 'anonymous', address: raw.address },
    signedIn: undefined,
    consoleSite: undefined,
    callerKnownAtMs: 0,
    params: undefined,
    presentation: undefined,
    headers: undefined,
    bytes: undefined,
    access: undefined,
    query: undefined,
    body: undefined,
    credentialBody: undefined,
  }
}

/** The request that a route gets, after every step has passed. */
export function toRouteRequest(
  exchange: Exchange,
  origin: Origin,
  place: ConsolePlace,
  own: Pick<RouteRequest, 'confirmCaller' | 'waitOutside' | 'releaseWhile'>,
): RouteRequest {
  const { raw, params, query, body, credentialBody, caller, signedIn, access } = exchange
  const prefer = raw.lines(headerNames.prefer)?.join(',')
  return {
    params,
    query,
    body,
    credentialBody,
    caller,
    ...own,
    isRepeated: false,
    signedIn,
    place,
    access,
    requirePresentation: () => requirePresentation(exchange),
    holderRequest: toHolderRequest(exchange, origin),
    lines: raw.lines,
    requestId: raw.requestId,
    reason: findReason(exchange),
    preferWaitSeconds: parsePreferWait(prefer),
    prefersDeniedEverywhere: prefersDeniedEverywhere(prefer),
  } as RouteRequest
}

/** The reason of a change, from the body or, at an endpoint that declares it, from its header. */
function findReason({ headers, body }: Pick<Exchange, 'headers' | 'body'>): string | undefined {
  const sent = findText(headers, headerNames.reason)
  return sent === undefined ? findText(body, 'reason') : parseReasonHeader(sent)
}

function findText(from: unknown, name: string): string | undefined {
  if (typeof from !== 'object' || from === null || !Object.hasOwn(from, name)) return undefined
  const value: unknown = from[name as keyof typeof from]
  return typeof value === 'string' ? value : undefined
}

/** The request as its holder has signed it. */
export function toHolderRequest({ raw, bytes }: Exchange, { authority, scheme }: Origin): HolderRequest {
  const { method, path, query, lines } = raw
  const body = bytes !== undefined && bytes.length > 0 ? bytes : 'none'
  return { method, authority, scheme, path, query, header: lines, body }
}

/** What the request presents; throws a Problem unless it is exactly one credential or token. */
export function requirePresentation(exchange: Pick<Exchange, 'raw' | 'presentation'>): Presentation {
  const found = exchange.presentation ?? findPresentation(exchange.raw.lines)
  if (isDenial(found)) throw new Problem(found.code, found.detail)
  exchange.presentation = found
  return found
}

/** The parsed part; throws a Problem that lists every fault. */
export function validatePart(schema: z.ZodType | undefined, value: unknown, part: RequestPart): unknown {
  if (schema === undefined) return undefined
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { code, errors } = toValidationProblem(result.error, part)
  throw new Problem(code, undefined, { errors })
}

export function validateQuery({ query }: RawRequest, { request }: MountedEndpoint): unknown {
  if (request.query !== undefined)
    return validatePart(request.query, parseQuery(query, request.queryLists ?? []), 'query')
  if (query.length <= 1) return undefined
  const names = Object.keys(parseQuery(query, [])).slice(0, limits.errors_listed_max)
  // Names are not repeated: one may be a secret that was sent in the wrong place.
  throw new Problem('validation_failed', undefined, {
    errors: names.map(() => ({ path: '…', message: 'this endpoint takes no query parameters' })),
  })
}

/** A form has been parsed before. */
export function validateBody(exchange: Exchange): Pick<Exchange, 'body' | 'credentialBody'> {
  const { bytes, form } = exchange
  const { request, auth } = exchange.endpoint
  // All members of an optional body are optional.
  if (bytes === undefined) return { body: request.bodyOptional ? {} : undefined, credentialBody: undefined }
  if (form !== undefined) return { body: validatePart(request.form, form, 'body'), credentialBody: undefined }
  if (exchange.bodyForm === 'secevent')
    return { body: validatePart(request.securityEvent, decodeText(bytes), 'body'), credentialBody: undefined }
  const json = parseJsonBody(bytes)
  const { credential } = json.members
  // The schema would say only that the credential must be an object.
  if (typeof credential === 'string' && isJwtForm(credential) && json.credential && isDenial(json.credential))
    throw new Problem(json.credential.code, json.credential.detail)
  const body = validatePart(request.body, json.members, 'body')
  return { body, credentialBody: auth === 'credential_in_body' || auth === 'page' ? json : undefined }
}
