import { type DidKey, isJsonObject, type JsonValue, parseDidWeb, readDidDocument } from '@countersign/core'
import { isLoopback } from '@countersign/core/contract'
import type { FetchOptions } from '../net/fetch-bytes.ts'
import { createJsonFetcher, type JsonFetcher } from '../net/fetch-json.ts'

/** The keys that a DID document names for signing credentials. There may be none. */
interface FetchedKeys {
  readonly keys: readonly DidKey[]
  /** Keys of the document that are ignored, and why. */
  readonly leftOut: readonly { readonly id: string; readonly why: string }[]
}

/** Fetches DID documents from other hosts. Never called during a verification. */
export interface DidWebFetcher {
  /** `fault` is a message for the administrator of the site, `cause` is for the log. */
  fetch(
    did: string,
    forSite?: string,
  ): Promise<FetchedKeys | { readonly fault: string; readonly cause?: unknown }>
}

export type DidWebOptions = FetchOptions

/** See `createJsonFetcher` for the limits of a fetch. */
export function createDidWebFetcher(
  options: DidWebOptions,
  fetcher: JsonFetcher = createJsonFetcher(options),
): DidWebFetcher {
  return {
    async fetch(did, forSite) {
      const location = parseDidWeb(did)
      if (location === undefined)
        return { fault: 'this is not a did:web with a host name and plain path segments' }
      const url = new URL(location.url)
      if (options.allowLoopback && isLoopback(url)) url.protocol = 'http:'
      const accept = 'application/did+json, application/json'
      const fetched = await fetcher.fetch(url, { what: 'DID document', accept, forSite })
      if ('fault' in fetched) {
        const { hasAnswered, ...fault } = fetched
        return fault
      }
      return namesNoKeys(fetched.json, did) ? { keys: [], leftOut: [] } : readDidDocument(fetched.json, did)
    },
  }
}

/** A valid document of this DID that names no signing keys. This is not a fault. */
function namesNoKeys(document: JsonValue, did: string): boolean {
  if (!isJsonObject(document) || document.id !== did) return false
  const { assertionMethod } = document
  return assertionMethod === undefined || (Array.isArray(assertionMethod) && assertionMethod.length === 0)
}
