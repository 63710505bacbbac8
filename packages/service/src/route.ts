import type { Allow, CredentialBody, HolderRequest, Presentation } from '@countersign/core'
import type { EndpointId, endpoints } from '@countersign/core/contract'
import type * as z from 'zod'
import type { Caller, RouteAnswer } from './answer.ts'
import type { Deps } from './deps.ts'
import type { ConsolePlace } from './http/console-place.ts'
import type { SignedIn } from './keys/console-sessions.ts'

type Request<Id extends EndpointId> = (typeof endpoints)[Id]['request']
type Part<Id extends EndpointId, Name extends string> =
  Request<Id> extends Readonly<Record<Name, z.ZodType<infer Parsed>>> ? Parsed : undefined

/** From JSON, from a form where the endpoint accepts one, or the text of a security event. */
type Body<Id extends EndpointId> = [SentBody<Id>] extends [never] ? undefined : SentBody<Id>
type SentBody<Id extends EndpointId> = {
  [Name in 'body' | 'form' | 'securityEvent']: Name extends keyof Request<Id> ? Part<Id, Name> : never
}['body' | 'form' | 'securityEvent']

type Access<Id extends EndpointId> = (typeof endpoints)[Id]['auth'] extends 'credential' ? Allow : undefined

/**
 * A request that has passed all steps of the pipeline: its parts are valid, and its caller may call
 * this endpoint.
 */
export interface RouteRequest<Id extends EndpointId = EndpointId> {
  readonly params: Part<Id, 'params'>
  readonly query: Part<Id, 'query'>
  readonly body: Body<Id>
  /** Present at endpoints that take a credential in the body, when that is JSON. */
  readonly credentialBody: CredentialBody | undefined
  readonly caller: Caller
  /**
   * Rejects when the key, session or role of the caller has ended since. For routes that take long.
   */
  readonly confirmCaller: () => Promise<void>
  /**
   * Runs what may wait long for other systems, so that the request does not take the place of
   * others meanwhile. Returns undefined, and runs nothing, when too many requests of the caller
   * wait.
   */
  readonly waitOutside: <T>(wait: () => Promise<T>) => Promise<T> | undefined
  /**
   * Waits for what has begun, so that the request does not take the place of others meanwhile.
   * Rejects with `overloaded` when there is no place for it afterwards.
   */
  readonly releaseWhile: <T>(waiting: Promise<T>) => Promise<T>
  /**
   * Whether the same request began before, with the same Idempotency-Key, and its outcome is
   * unknown.
   */
  readonly isRepeated: boolean
  /** The session of a person, in the console. */
  readonly signedIn: SignedIn | undefined
  /** Where this listener serves the console. */
  readonly place: ConsolePlace
  /** The decision of the guard, at endpoints behind it. */
  readonly access: Access<Id>
  /**
   * What X-Service-Credential or Authorization carries. Throws a Problem unless there is exactly
   * one of them.
   */
  readonly requirePresentation: () => Presentation
  /** The request as the client signed it. */
  readonly holderRequest: HolderRequest
  /** Every field line of that lower-case name. */
  readonly lines: (name: string) => readonly string[] | undefined
  readonly requestId: string
  /** Why the caller makes this change: `reason` of the body, or `X-Reason` of a DELETE. */
  readonly reason: string | undefined
  /** `Prefer: wait=N`, in seconds. */
  readonly preferWaitSeconds: number | undefined
  /** `Prefer: denied-everywhere`: to wait for that, and not only for acknowledgements. */
  readonly prefersDeniedEverywhere: boolean
}

/** One endpoint. Knows no web server, and needs no socket to be tested. */
export type Route<Id extends EndpointId> = (request: RouteRequest<Id>, deps: Deps) => Promise<RouteAnswer>

/** A request for a page outside of the contract. */
export type PageRequest = Pick<RouteRequest, 'lines'> & {
  readonly path: string
  /** With its question mark. */
  readonly query: string
}
