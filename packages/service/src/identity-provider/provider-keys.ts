import { parseJson, type UnverifiedJwt, verifyJwtSignature } from '@countersign/core'
import { type OAuthKey, readKeySet } from '../keys/oauth-keys.ts'
import { ALGORITHMS, findFitting } from '../signals/sender-keys.ts'
import type { ProviderFetch } from './provider-fetch.ts'

/** `unavailable`: whether the signature is valid cannot be said now. */
type SignatureCheck = 'valid' | 'invalid' | 'unavailable'

/** Verifies logout tokens of the identity provider, with the keys that it publishes. */
export interface ProviderKeys {
  check(jwt: UnverifiedJwt, jwksUri: string): Promise<SignatureCheck>
}

const REFRESH_MS = 5 * 60_000
/** Between two attempts, for unknown keys and after failures. */
const RETRY_MS = 10_000
const JSON_DEPTH_MAX = 16

export function createProviderKeys(
  fetch: ProviderFetch,
  monotonicMs: () => number,
  onFailure: (cause: unknown) => void,
): ProviderKeys {
  let keys: readonly OAuthKey[] = []
  let fetchedMs = Number.NEGATIVE_INFINITY
  let triedMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined

  const refresh = (jwksUri: string): Promise<void> => {
    fetching ??= (async () => {
      triedMs = monotonicMs()
      try {
        keys = await loadKeys(fetch, jwksUri)
        fetchedMs = triedMs
      } catch (cause) {
        onFailure(cause)
      } finally {
        fetching = undefined
      }
    })()
    return fetching
  }

  return {
    async check(jwt, jwksUri) {
      if (!ALGORITHMS.has(jwt.header.alg)) return 'invalid'
      const askedMs = monotonicMs()
      // A key that is known decides. For an unknown one the set is fetched again.
      for (const isUnknown of [false, true]) {
        const isOld = isUnknown || monotonicMs() - fetchedMs >= REFRESH_MS
        const mayTry = fetching !== undefined || monotonicMs() - triedMs >= RETRY_MS
        if (isOld && mayTry) await refresh(jwksUri)
        const key = findFitting(jwt, keys)
        if (key !== undefined) return (await verifyJwtSignature(jwt, key)) ? 'valid' : 'invalid'
      }
      // Only a set that was fetched after the token had arrived proves that there is no such key.
      return fetchedMs >= askedMs ? 'invalid' : 'unavailable'
    },
  }
}

async function loadKeys(fetch: ProviderFetch, jwksUri: string): Promise<readonly OAuthKey[]> {
  const headers = { accept: 'application/jwk-set+json, application/json' }
  const answer = await fetch(jwksUri, { method: 'GET', headers })
  if (answer.status !== 200) throw new Error(`the key set was answered with ${answer.status}`)
  const json = parseJson(await answer.text(), { depthMax: JSON_DEPTH_MAX })
  if ('fault' in json) throw new Error('the key set is not strict JSON')
  const set = await readKeySet(json.value)
  if ('fault' in set) throw new Error(set.fault)
  return set.keys
}
