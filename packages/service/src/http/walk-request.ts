import {
  type CredentialBody,
  findPresentation,
  type HolderRequest,
  isDenial,
  type Presentation,
} from '@countersign/core'
import {
  headerNames,
  limits,
  parsePreferWait,
  prefersDeniedEverywhere,
  type RequestPart,
  refusalOf,
} from '@countersign/core/contract'
import type * as z from 'zod'
import type { Caller } from '../answer.ts'
import { Problem } from '../problem.ts'
import type { RouteRequest } from '../route.ts'
import { type BodyForm, parseFormBody, parseJsonBody, parseQuery } from './body.ts'
import type { MountedEndpoint } from './exit.ts'
import type { Incoming } from './incoming.ts'

/**
 * The name under which the service knows itself. What Host says is the sender's word only, and no
 * holder's signature counts for it.
 */
export type Origin = Pick<HolderRequest, 'authority'> & { readonly scheme: 'http' | 'https' }

interface Parts {
  readonly query: unknown
  readonly body: unknown
  readonly credentialBody: CredentialBody | undefined
}

/**
 * A request whose caller is known. What was sent is read and checked when a route asks for it,
 * once, and rejected then if it does not fit.
 */
export class WalkRequest implements RouteRequest {
  readonly caller: Caller
  readonly requestId: string
  readonly lines: (name: string) => readonly string[] | undefined
  readonly params: never
  private readonly incoming: Incoming
  private readonly endpoint: MountedEndpoint
  private readonly origin: Origin
  private readonly form: BodyForm
  private bytes: Uint8Array = NOTHING
  private read: Parts | undefined
  private presented: Presentation | undefined

  constructor(
    incoming: Incoming,
    endpoint: MountedEndpoint,
    caller: Caller,
    params: unknown,
    form: BodyForm,
    origin: Origin,
  ) {
    this.incoming = incoming
    this.endpoint = endpoint
    this.caller = caller
    this.params = params as never
    this.form = form
    this.origin = origin
    this.requestId = incoming.requestId
    this.lines = incoming.lines
  }

  /** To be called with the whole body before a part of it is asked for. */
  arrived(bytes: Uint8Array): void {
    this.bytes = bytes
  }

  parts(): Parts {
    this.read ??= {
      query: queryOf(this.incoming, this.endpoint),
      ...bodyOf(this.bytes, this.form, this.endpoint),
    }
    return this.read
  }
  get query(): never {
    return this.parts().query as never
  }
  get body(): never {
    return this.parts().body as never
  }
  get credentialBody(): CredentialBody | undefined {
    return this.parts().credentialBody
  }
  get presentation(): () => Presentation {
    return () => {
      this.presented ??= presentationOf(this.incoming)
      return this.presented
    }
  }
  get holderRequest(): HolderRequest {
    const { method, path, query, lines } = this.incoming
    const { authority, scheme } = this.origin
    return {
      method,
      authority,
      scheme,
      path,
      query,
      header: lines,
      body: this.bytes.length > 0 ? this.bytes : 'none',
    }
  }
  get preferWaitSeconds(): number | undefined {
    return parsePreferWait(this.lines(headerNames.prefer)?.join(','))
  }

  get prefersDeniedEverywhere(): boolean {
    return prefersDeniedEverywhere(this.lines(headerNames.prefer)?.join(','))
  }
}

const NOTHING = new Uint8Array()
const NO_BODY = { body: undefined, credentialBody: undefined }

/** The parsed part, or a refusal that names each fault. */
export function fit(schema: z.ZodType | undefined, value: unknown, part: RequestPart): unknown {
  if (schema === undefined) return undefined
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { code, errors } = refusalOf(result.error, part)
  throw new Problem(code, undefined, { errors })
}

function queryOf({ query }: Incoming, { request }: MountedEndpoint): unknown {
  if (request.query !== undefined)
    return fit(request.query, parseQuery(query, request.queryLists ?? []), 'query')
  if (query.length <= 1) return undefined
  const names = Object.keys(parseQuery(query, [])).slice(0, limits.errors_listed_max)
  // A name may be anything, a secret sent in the wrong place as well, so it is not repeated.
  throw new Problem('validation_failed', undefined, {
    errors: names.map(() => ({ path: '…', message: 'no parameter is known here' })),
  })
}

function bodyOf(bytes: Uint8Array, form: BodyForm, { request, auth }: MountedEndpoint): Omit<Parts, 'query'> {
  // Where a body is optional, every member of it is.
  if (form === 'none') return request.bodyOptional ? { body: {}, credentialBody: undefined } : NO_BODY
  if (form === 'form')
    return { body: fit(request.form, parseFormBody(bytes), 'body'), credentialBody: undefined }
  const read = parseJsonBody(bytes)
  const body = fit(request.body, read.members, 'body')
  return { body, credentialBody: auth === 'credential_in_body' || auth === 'page' ? read : undefined }
}

function presentationOf({ lines }: Incoming): Presentation {
  const found = findPresentation(lines)
  if (isDenial(found)) throw new Problem(found.code, found.detail)
  return found
}
