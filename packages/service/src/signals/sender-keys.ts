import {
  fitsAlgorithm,
  type JwtKey,
  type OAuthIssuer,
  parseJwtKey,
  type SiteId,
  toThumbprint,
  type UnverifiedJwt,
  verifyJwtSignature,
} from '@countersign/core'
import type { SignalSender } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { BoundedMap } from '../bounded-map.ts'
import type { KeySetFetcher } from '../did-web/fetch-key-set.ts'

interface SenderKey {
  readonly kid?: string | null | undefined
  readonly key: JwtKey
}

/** `unavailable`: whether the signature is valid cannot be said now. */
type SignatureCheck = 'valid' | 'invalid' | 'unavailable'

/** Verifies tokens of senders. One for each node; it keeps fetched key sets. */
export interface SenderKeys {
  check(
    jwt: UnverifiedJwt,
    sender: SignalSender,
    issuer: OAuthIssuer,
    siteId: SiteId,
  ): Promise<SignatureCheck>
}

interface Location {
  readonly issuer: string
  readonly jwksUri: string
  readonly siteId: SiteId
}

interface KeptSet {
  /** Undefined: it could never be fetched. */
  keys: readonly SenderKey[] | undefined
  fetchedMs: number
  triedMs: number
  fetching: Promise<void> | undefined
}

/** No key set is fetched for a token with another algorithm. */
export const ALGORITHMS: ReadonlySet<unknown> = new Set([
  'RS256',
  'PS256',
  'ES256',
  'ES384',
  'EdDSA',
  'Ed25519',
])
const SETS_MAX = 1000
const REFRESH_MS = 5 * 60_000
/** Between two attempts, for unknown keys and after failures. */
const RETRY_MS = 10_000
/** As for the key sets of OAuth issuers: then a set that cannot be refreshed is not used. */
const STALE_MS_MAX = 24 * 3_600_000

export interface SenderKeysOptions {
  /** A clock that never runs back. */
  readonly monotonicMs: () => number
  readonly log: Pick<Logger, 'warn'>
}

export function createSenderKeys(
  keySets: KeySetFetcher,
  { monotonicMs, log }: SenderKeysOptions,
): SenderKeys {
  const sets = new BoundedMap<string, KeptSet>(SETS_MAX)

  const refresh = (kept: KeptSet, { siteId, ...at }: Location): Promise<void> => {
    kept.fetching ??= (async () => {
      const startedMs = monotonicMs()
      kept.triedMs = startedMs
      const fetched = await keySets.fetch(at, siteId).catch((cause: unknown) => ({ cause }))
      if ('keys' in fetched) Object.assign(kept, { keys: fetched.keys, fetchedMs: startedMs })
      else log.warn({ siteId, ...at, ...fetched }, 'could not fetch the keys of a sender of signals')
      kept.fetching = undefined
    })()
    return kept.fetching
  }

  const findKept = (name: string): KeptSet => {
    const never = Number.NEGATIVE_INFINITY
    const kept = sets.get(name) ?? { keys: undefined, fetchedMs: never, triedMs: never, fetching: undefined }
    sets.set(name, kept)
    return kept
  }

  const loadKeys = async (kept: KeptSet, location: Location, isUnknown: boolean) => {
    const isOld = isUnknown || monotonicMs() - kept.fetchedMs >= REFRESH_MS
    const mayTry = kept.fetching !== undefined || monotonicMs() - kept.triedMs >= RETRY_MS
    if (isOld && mayTry) await refresh(kept, location)
    return monotonicMs() - kept.fetchedMs < STALE_MS_MAX ? (kept.keys ?? []) : []
  }

  const checkFetched = async (jwt: UnverifiedJwt, location: Location, issuer: OAuthIssuer) => {
    const askedMs = monotonicMs()
    const kept = findKept(`${location.siteId} ${location.jwksUri}`)
    // A key that is known decides. For an unknown one the set is fetched again.
    for (const isUnknown of [false, true]) {
      const key = findFitting(jwt, await loadKeys(kept, location, isUnknown))
      if (key !== undefined) return checkKey(jwt, key, issuer)
    }
    // Only a set that was fetched after the token had arrived proves that there is no such key.
    return kept.fetchedMs >= askedMs ? 'invalid' : 'unavailable'
  }

  return {
    async check(jwt, { jwks, jwks_uri: jwksUri, issuer: sender }, issuer, siteId) {
      if (!ALGORITHMS.has(jwt.header.alg)) return 'invalid'
      if (jwksUri !== undefined) return checkFetched(jwt, { issuer: sender, jwksUri, siteId }, issuer)
      const known = jwks === undefined ? findUsableKeys(jwt, issuer) : parseKeySet(jwks.keys)
      const key = findFitting(jwt, known)
      return key === undefined ? 'invalid' : checkKey(jwt, key, issuer)
    },
  }
}

/** A key that the site has marked as compromised verifies nothing, wherever it comes from. */
async function checkKey(jwt: UnverifiedJwt, key: JwtKey, issuer: OAuthIssuer): Promise<SignatureCheck> {
  const known = issuer.keys.get(`${issuer.issuer}#${await toThumbprint(key.jwk)}`)
  return known?.status !== 'compromised' && (await verifyJwtSignature(jwt, key)) ? 'valid' : 'invalid'
}

/** The keys of a key set that can verify signatures. Others are left out. */
function parseKeySet(jwks: readonly Readonly<Record<string, unknown>>[]): readonly SenderKey[] {
  return jwks.flatMap((jwk) => {
    const key = parseJwtKey(jwk)
    const { kid } = jwk
    return key === undefined ? [] : [{ key, kid: typeof kid === 'string' ? kid : undefined }]
  })
}

/** Retired keys verify what was signed before, compromised keys nothing. */
function findUsableKeys({ claims }: UnverifiedJwt, { keys }: OAuthIssuer): readonly SenderKey[] {
  const { iat } = claims
  return [...keys.values()].filter(
    ({ status, changedAtMs = Number.NEGATIVE_INFINITY }) =>
      status === 'active' || (status === 'retired' && typeof iat === 'number' && iat * 1000 < changedAtMs),
  )
}

/** A token without `kid` fits only if exactly one key has its algorithm. */
export function findFitting({ header }: UnverifiedJwt, keys: readonly SenderKey[]): JwtKey | undefined {
  const { alg, kid } = header
  if (kid !== undefined && typeof kid !== 'string') return undefined
  const [found, ...others] = keys.filter(
    (each) => (kid === undefined || each.kid === kid) && fitsAlgorithm(each.key, alg),
  )
  return others.length === 0 ? found?.key : undefined
}
