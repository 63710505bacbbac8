import type { JsonWebKey } from 'node:crypto'

/** What each server of the comparison has to be told. */
export interface ServerOptions {
  readonly http: { readonly body: unknown }
  readonly fastify: { readonly body: unknown; readonly log?: boolean }
  readonly verify: { readonly body: unknown }
  readonly sockets: Record<string, never>
  readonly jose: {
    readonly body: unknown
    readonly publicJwk: JsonWebKey
    readonly issuer: string
    readonly audience: string
  }
  readonly framework: FrameworkOptions
  readonly oidc: { readonly port: number }
  readonly ours: OursOptions
  readonly guard: GuardOptions
}
export type FrameworkName = 'express' | 'fastify' | 'hono'

interface FrameworkOptions {
  readonly framework: FrameworkName
  readonly body: object
  /**
   * Called once before anything else, as every application calls some other server: from then on
   * Node's streams have met sockets of two kinds, and take about a tenth longer for each. That is
   * not what a guard costs.
   */
  readonly neighbour: string
  readonly guarded?: {
    readonly baseUrl: string
    readonly siteId: string
    readonly apiKey: string
    readonly scope: string
  }
  /** A peer in place of the guard, on Express. */
  readonly jwt?: JwtPeer
}

/** With a secret that both know: no look-up of keys, and the quickest signature there is. */
interface HmacPeer {
  readonly issuer: string
  readonly audience: string
  readonly secret: string
}

/** With the published keys of an issuer, fetched once. */
interface KeySetPeer {
  readonly issuer: string
  readonly audience: string
  readonly jwksUri: string
}
type JwtPeer = HmacPeer | KeySetPeer
export type ServerName = keyof ServerOptions

/** A running server. `close` ends it in good order. */
export interface Running<Ready = { readonly port: number }> {
  readonly ready: Ready
  close(): Promise<void>
}

interface ReadyOf extends Record<Exclude<ServerName, 'oidc' | 'ours' | 'guard'>, { readonly port: number }> {
  readonly oidc: { readonly port: number; readonly token: string; readonly authorization: string }
  readonly ours: OursReady
  /** It listens to nothing. */
  readonly guard: { readonly port: 0; readonly seconds: number }
}
export type Ready<Name extends ServerName> = ReadyOf[Name]
export type ServerReply<Name extends ServerName> = { readonly ready: Ready<Name> } | Usage

/** Of the whole process, with all its threads. */
export interface Usage {
  readonly cpuUs: number
  readonly rssBytes: number
  readonly rssBytesMax: number
  /** The part of `rssBytes` that the main thread has for new objects. */
  readonly youngBytes: number
  /** What JavaScript holds in the main thread, buffers included. */
  readonly heldBytes: number
}

export interface OursOptions {
  readonly dataDir: string
  /** PostgreSQL instead of a file in that directory. */
  readonly databaseUrl?: string
  readonly logLevel?: 'info' | 'warn'
  /** Whom the site trusts. */
  readonly issuer: { readonly did: string; readonly keyId: string; readonly multikey: string }
  /** How many API keys are made. Default: one. */
  readonly keys?: number
}

export interface OursReady {
  readonly port: number
  readonly apiKey: string
  /** That one and the others that were asked for. */
  readonly apiKeys: readonly string[]
}

/** A guard that follows a site. */
export interface GuardOptions {
  readonly baseUrl: string
  readonly siteId: string
  readonly apiKey: string
}
