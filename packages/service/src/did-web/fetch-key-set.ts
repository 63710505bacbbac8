import { isJsonObject } from '@countersign/core'
import { type KeySet, readKeySet } from '../keys/oauth-keys.ts'
import type { FetchFault } from '../net/fetch-bytes.ts'
import type { JsonFetcher } from '../net/fetch-json.ts'

/** Where the key set of an OAuth issuer is. Without a URL its metadata says it. */
interface KeySetLocation {
  readonly issuer: string
  readonly jwksUri: string | null
}

/** Fetches key sets from other hosts. Never called during a verification. */
export interface KeySetFetcher {
  /** `fault` is a message for the administrator of the site, `cause` is for the log. */
  fetch(
    location: KeySetLocation,
    forSite?: string,
  ): Promise<KeySet | { readonly fault: string; readonly cause?: unknown }>
}

/** See `createJsonFetcher` for the limits of a fetch. */
export function createKeySetFetcher(fetcher: JsonFetcher): KeySetFetcher {
  return {
    async fetch({ issuer, jwksUri }, forSite) {
      const found = jwksUri === null ? await findKeySetUrl(fetcher, issuer, forSite) : { url: jwksUri }
      if ('fault' in found) return found
      if (!URL.canParse(found.url)) return { fault: 'the URL of the key set is invalid' }
      const accept = 'application/jwk-set+json, application/json'
      const fetched = await fetcher.fetch(new URL(found.url), { what: 'key set', accept, forSite })
      return 'fault' in fetched ? fetched : readKeySet(fetched.json)
    },
  }
}

/**
 * RFC 8414 §3 first, then OpenID Connect Discovery §4. The document must name the issuer exactly as
 * it is registered: otherwise one issuer could speak for another (RFC 8414 §3.3).
 */
async function findKeySetUrl(
  fetcher: JsonFetcher,
  issuer: string,
  forSite: string | undefined,
): Promise<{ readonly url: string } | FetchFault> {
  let first: FetchFault | undefined
  for (const url of listMetadataUrls(issuer)) {
    const fetched = await fetcher.fetch(url, {
      what: 'metadata document',
      accept: 'application/json',
      forSite,
    })
    if ('fault' in fetched) {
      first ??= fetched
      // A host that cannot be reached is not asked twice.
      if (!fetched.hasAnswered) return fetched
      continue
    }
    const document = isJsonObject(fetched.json) ? fetched.json : {}
    if (document.issuer !== issuer)
      return invalid('the metadata document names another issuer; use the issuer exactly as it spells it')
    if (typeof document.jwks_uri !== 'string') return invalid('the metadata document has no jwks_uri')
    return { url: document.jwks_uri }
  }
  return first ?? invalid('the issuer has no metadata document')
}

function listMetadataUrls(issuer: string): readonly URL[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    new URL(`${origin}/.well-known/oauth-authorization-server${path}`),
    new URL(`${origin}${path}/.well-known/openid-configuration`),
  ]
}

function invalid(fault: string): FetchFault {
  return { fault, hasAnswered: true }
}
