import type { Socket } from 'node:net'
import type { CredentialBody, HolderRequest, Presentation, SiteId } from '@countersign/core'
import type { EndpointId, endpoints, Permission } from '@countersign/core/contract'
import type * as z from 'zod'
import type { Deps } from '../deps.ts'

type Request<Id extends EndpointId> = (typeof endpoints)[Id]['request']
type Part<Id extends EndpointId, Name extends string> =
  Request<Id> extends Readonly<Record<Name, z.ZodType<infer Parsed>>> ? Parsed : undefined

/** As JSON, or as a form where that is taken too. */
type Body<Id extends EndpointId> = [SentBody<Id>] extends [never] ? undefined : SentBody<Id>
type SentBody<Id extends EndpointId> = {
  [Name in 'body' | 'form']: Name extends keyof Request<Id> ? Part<Id, Name> : never
}['body' | 'form']

/** Who calls, once the http layer has looked at the API key. */
export type Caller =
  | { readonly kind: 'anonymous'; readonly address: string }
  | { readonly kind: 'operator'; readonly keyId: string; readonly address: string }
  | {
      readonly kind: 'site'
      readonly siteId: SiteId
      readonly keyId: string
      readonly permissions: readonly Permission[]
      readonly address: string
    }

/**
 * A request that has passed everything the endpoint table says: its parts fit their schemas, its
 * caller may call.
 */
export interface RouteRequest<Id extends EndpointId = EndpointId> {
  readonly params: Part<Id, 'params'>
  readonly query: Part<Id, 'query'>
  readonly body: Body<Id>
  /** Present at endpoints that take a credential in the body, when that is JSON. */
  readonly credentialBody: CredentialBody | undefined
  readonly caller: Caller
  /**
   * What X-Service-Credential or Authorization carry, found on demand; throws a Problem when there
   * is not exactly one of them.
   */
  readonly presentation: () => Presentation
  /** The request as the client signed it. */
  readonly holderRequest: HolderRequest
  /** Every field line of that lower-case name. */
  readonly lines: (name: string) => readonly string[] | undefined
  readonly requestId: string
  /** `Prefer: wait=N`, in seconds. */
  readonly preferWaitSeconds: number | undefined
  /** `Prefer: denied-everywhere`: to wait for that, and not only for acknowledgements. */
  readonly prefersDeniedEverywhere: boolean
}

export interface RouteAnswer {
  readonly status: number
  /**
   * JSON, unless `contentType` says otherwise: then it is text, or bytes, as they are to be sent.
   */
  readonly body?: unknown
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Instead of a body: what goes on after the head of the answer has been sent. */
  readonly stream?: AnswerStream
}

/**
 * `pieces` are written at the pace of the reader, compressed for those who take it; what they
 * throw, and `signal`, cut the connection. `letGo` follows in every case, even when no piece was
 * asked for: a generator that was never started runs no `finally`. A `connection` is handed over,
 * with no other listener, or, when the client has gone, released: exactly one of the two.
 */
export type AnswerStream =
  | {
      readonly kind: 'pieces'
      readonly pieces: AsyncIterable<Uint8Array>
      readonly signal?: AbortSignal
      letGo(): void
    }
  | { readonly kind: 'connection'; take(connection: Socket): void; letGo(): void }

/** One endpoint. Knows no web framework, and needs no socket to be tested. */
export type Route<Id extends EndpointId> = (
  request: RouteRequest<Id>,
  deps: Deps,
) => RouteAnswer | Promise<RouteAnswer>
