import type { Socket } from 'node:net'
import type { SiteId } from '@countersign/core'
import type { Permission } from '@countersign/core/contract'

/** An API key, or a person in the console. */
type KeyOrPerson =
  | { readonly keyId: string; readonly person?: undefined }
  | { readonly keyId?: undefined; readonly person: CallerPerson }

interface CallerPerson {
  readonly personId: string
  readonly sessionId: string
}

/** The caller of a request, known after its API key or its session has been checked. */
export type Caller =
  | { readonly kind: 'anonymous'; readonly address: string }
  | ({ readonly kind: 'operator'; readonly address: string } & KeyOrPerson)
  | ({
      readonly kind: 'site'
      readonly siteId: SiteId
      readonly permissions: readonly Permission[]
      readonly address: string
    } & KeyOrPerson)

export interface RouteAnswer {
  readonly status: number
  /**
   * JSON, unless there is a `contentType`: then it is text or bytes, sent as they are.
   */
  readonly body?: unknown
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Each becomes a Set-Cookie. */
  readonly cookies?: readonly string[]
  /** Instead of a body: the stream that follows the head of the answer. */
  readonly stream?: AnswerStream
}

/**
 * What follows the head of a streamed response.
 *
 * `pieces` are written as fast as the client reads, in gzip if it accepts that. An error while
 * producing them, or `signal`, cuts the connection.
 *
 * A `connection` is passed to `accept` once the head is sent, with no other listeners on it.
 *
 * `release` is called when a `connection` could not be passed on because the client has gone, and
 * always at the end of `pieces`: a generator that was never started does not run its `finally`.
 */
export type AnswerStream =
  | {
      readonly kind: 'pieces'
      readonly pieces: (encoding: 'gzip' | 'identity') => AsyncIterable<Uint8Array>
      readonly signal?: AbortSignal
      release(): void
    }
  | { readonly kind: 'connection'; accept(connection: Socket): void; release(): void }
