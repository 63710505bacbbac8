import { type BaseUrlOptions, readBaseUrl } from '../shared/base-url.ts'
import type { OptionKinds } from '../shared/require-options.ts'
import type { Connection } from './call.ts'

export interface ClientOptions extends BaseUrlOptions {
  readonly baseUrl: string
  /** `svc_sk_…`, sent in `X-API-Key` to the calls that need one, and never anywhere else. */
  readonly apiKey?: string
  readonly fetch?: typeof globalThis.fetch
  /** For one try. */
  readonly timeoutMs?: number
  /** How often a call is retried that got no response, or a retryable one. */
  readonly retriesMax?: number
  /** The time for signatures of requests. */
  readonly nowMs?: () => number
}

/** The options of everything that calls the service. */
export const CONNECTION_KINDS: OptionKinds<Omit<ClientOptions, 'apiKey'>> = {
  baseUrl: 'string',
  fetch: 'function',
  timeoutMs: 'number',
  retriesMax: 'number',
  nowMs: 'function',
}

/** Reads the options of the caller. Throws a TypeError for invalid ones. */
export function readConnection(options: ClientOptions): Connection {
  const { apiKey, fetch, timeoutMs = 10_000, retriesMax = 2, nowMs = Date.now } = options
  // Checked here because the error of fetch would contain the invalid header.
  if (apiKey !== undefined && !/^svc_sk_[\x21-\x7e]{1,256}$/.test(apiKey))
    throw new TypeError('apiKey must be svc_sk_… as it was shown')
  if (!(timeoutMs > 0)) throw new TypeError('timeoutMs must be more than 0')
  if (!Number.isInteger(retriesMax) || retriesMax < 0)
    throw new TypeError('retriesMax must be a whole number from 0')
  return { baseUrl: readBaseUrl(options.baseUrl, options), apiKey, fetch, timeoutMs, retriesMax, nowMs }
}
