import type { JsonObject, PrivateKey } from '@countersign/core'
import type { AccessToken } from '@countersign/core/contract'
import { call } from '../client/call.ts'
import { calls } from '../client/client.ts'
import { type ClientOptions, CONNECTION_KINDS, readConnection } from '../client/connection.ts'
import { CountersignError } from '../client/countersign-error.ts'
import { requireOptions } from '../shared/require-options.ts'

export interface ExchangeOptions extends Omit<ClientOptions, 'apiKey'> {
  /** Default: the whole scope of the credential. */
  readonly scope?: readonly string[]
  /** The lifetime of each token, 60 to 3600. Default: that of the service, 900. */
  readonly ttlSeconds?: number
}

export interface AccessTokens {
  /** A token that is still valid for a while. Concurrent callers share one exchange. */
  current(): Promise<string>
  /** Forgets a token that was rejected, but not a newer one. */
  drop(token: string): void
}

/** A token is replaced this long before it expires, to allow for slow requests and clock skew. */
const MARGIN_MS = 15_000
const MARGIN_PART = 0.1

/**
 * Bearer tokens for one credential, exchanged when they are needed and kept in memory until shortly
 * before they end.
 */
export function createAccessTokens(
  options: ExchangeOptions,
  credential: JsonObject,
  holderKey: PrivateKey | undefined,
): AccessTokens {
  requireOptions<ExchangeOptions>('exchange', options, {
    ...CONNECTION_KINDS,
    scope: 'list',
    ttlSeconds: 'number',
  })
  const { scope, ttlSeconds } = options
  const connection = readConnection(options)
  const input = { credential, requested_scope: scope, ttl_seconds: ttlSeconds }
  let kept: { readonly token: string; readonly usableUntilMs: number } | undefined
  let running: Promise<string> | undefined

  const exchangeOnce = async () =>
    (await call(connection, calls.exchangeProof, input, holderKey && { holderKey })) as AccessToken

  const exchange = async (): Promise<string> => {
    // Read before the call: the lifetime begins before the response arrives.
    const askedMs = connection.nowMs()
    const answer = await exchangeOnce().catch((error: unknown) => {
      // A token was issued, but the response was lost. That token expires by itself; the next call
      // has a new idempotency key.
      if (error instanceof CountersignError && error.code === 'idempotency_conflict') return exchangeOnce()
      throw error
    })
    const lifeMs = answer.expires_in * 1000
    kept = {
      token: answer.access_token,
      usableUntilMs: askedMs + lifeMs - Math.min(MARGIN_MS, lifeMs * MARGIN_PART),
    }
    return kept.token
  }

  return {
    async current() {
      if (kept !== undefined && connection.nowMs() < kept.usableUntilMs) return kept.token
      running ??= exchange().finally(() => {
        running = undefined
      })
      return running
    },
    drop(token) {
      if (kept?.token === token) kept = undefined
    },
  }
}
