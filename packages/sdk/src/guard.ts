import type { NonceStore, ViewStamp } from '@countersign/core'
import type { PLAIN_HTTP } from './base-url.ts'
import type { GuardRequest } from './guard/request.ts'
import type { GuardAllow, GuardVerdict } from './guard/verdict.ts'
import type { GuardClock } from './view/clock.ts'

/** Let old knowledge count, as `{ [FAIL_OPEN]: true }`. A symbol, so that neither JSON nor the environment can set it. */
export const FAIL_OPEN: unique symbol = Symbol('countersign.failOpen')

export interface GuardOptions {
  /** Where the service is, for example `https://auth.example`. */
  readonly baseUrl: string
  readonly siteId: string
  /** A key of the site with `feed:read`, and with `tokens:introspect` where bearer tokens are taken. */
  readonly apiKey: string
  /** How old the knowledge of revocations may be before everything is refused. Default 30. */
  readonly maxStalenessSeconds?: number
  /** The keys that may sign for the log, as Multikey by `kid`. Default: those that the service's discovery lists. */
  readonly feedKeys?: Readonly<Record<string, string>>
  /** Where used holder proofs are remembered. Default: the memory of this process, which is not enough for several processes. */
  readonly nonceStore?: NonceStore
  /** How this verifier calls itself to the service, 1 to 64 of `A-Z a-z 0-9 _ -`. Default: random for each process. */
  readonly verifierId?: string
  /**
   * How callers address this application when that is not what it sees: behind a proxy, `https://api.example`, with the path that the proxy takes
   * away if it takes one away. Needed for holder proofs under a host that is neither the site's own, nor below it, nor this machine.
   */
  readonly publicOrigin?: string
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  readonly clock?: GuardClock
  /** Told whenever `ready`, `connection` or `problem` has changed. What it throws is dropped. */
  readonly onStateChange?: (state: GuardState) => void
  readonly [FAIL_OPEN]?: true
  readonly [PLAIN_HTTP]?: true
}

/** What a route asks for: all of `scope`, and one of `anyScope`. A scope that is none throws a TypeError. */
export interface GuardDemand {
  readonly scope?: string | readonly string[]
  readonly anyScope?: readonly string[]
}

/** A session that began with a hosted sign-in, with what `/auth/sdk-result` said. Times are RFC 3339 or milliseconds. */
export interface SignedInSession {
  readonly ppid: string
  readonly credentialId: string
  readonly verifiedAt: string | number
  readonly expiresAt?: string | number
}

export type SessionVerdict =
  | { readonly active: true; readonly stale: boolean; readonly view: ViewStamp }
  | { readonly active: false; readonly stale: boolean; readonly code: SessionEnd; readonly detail: string; readonly view: ViewStamp }

export type SessionEnd = 'credential_revoked' | 'credential_expired' | 'revocation_view_stale'

export interface GuardState {
  /** Whether a good credential would be let in now. */
  readonly ready: boolean
  /** How old the knowledge may be at most; infinite while there is none. */
  readonly ageMs: number
  readonly epoch: string
  readonly seq: number
  /** How many revocations are known. */
  readonly revocations: number
  readonly connection: 'idle' | 'loading' | 'connecting' | 'following' | 'waiting' | 'closed'
  /** What stands in the way, in a word and in a sentence for the operator. Gone when it is mended. */
  readonly problem?: { readonly code: string; readonly detail: string }
  readonly verifierId: string
}

/**
 * Protects the routes of one site. It knows what has been revoked because it follows the site's log, decides without asking anybody, and refuses
 * with 503 when it cannot know. Following begins with the first call of `ready`, `verify` or `isActive`.
 */
export interface Guard {
  /**
   * Decides about one request. Never rejects because of what a caller sent. Right after the start it waits for the first knowledge, a few seconds
   * at most; later it waits only for the introspection of a new bearer token, for a body and for the nonce store.
   */
  verify(request: GuardRequest, demand?: GuardDemand): Promise<GuardVerdict>
  /**
   * Whether a session that began with a hosted sign-in may go on. Sees the revocation of its credential and of its user; not of an issuer or a parent
   * credential, of which the sign-in says nothing.
   */
  isActive(session: SignedInSession): SessionVerdict
  /**
   * Fires when what let this request in no longer would: revoked, expired, distrusted, or the knowledge too old. Its reason is an `AccessEnded`. Pass
   * `done` to have it forgotten at the end of the request; otherwise it is kept until it fires.
   */
  signal(of: GuardAllow | GuardRequest, done?: AbortSignal): AbortSignal
  state(): GuardState
  /** Resolves when a good credential would be let in. Rejects when the guard is closed before. */
  ready(): Promise<void>
  /** Ends everything: the feed, timers, signals. Afterwards everything is refused. */
  close(): Promise<void>
}

/** Makes a guard; no I/O happens before its first use. Throws a TypeError that names every option that is wrong. */
export function createGuard(_options: GuardOptions): Guard {
  throw new TypeError('not built yet')
}
