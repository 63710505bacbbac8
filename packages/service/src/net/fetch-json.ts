import { isUtf8 } from 'node:buffer'
import { type JsonValue, parseJson } from '@countersign/core'
import { createFetcher, type Fetcher, type FetchFault, type FetchOptions } from './fetch-bytes.ts'

export interface JsonFetcher {
  /**
   * Loads a JSON document from a host that another party has chosen. `what` names the document in
   * messages, for example `DID document`. `forSite` is the site that requested it. Each site may
   * have a few fetches at a time, so that slow hosts of one site do not block the others.
   */
  fetch(
    url: URL,
    options: { readonly what: string; readonly accept: string; readonly forSite?: string | undefined },
  ): Promise<{ readonly json: JsonValue } | FetchFault>
}

const JSON_DEPTH_MAX = 16
const JSON_TYPE = /^application\/(?:json|[a-z0-9.+-]+\+json)\s*(?:;|$)/i

/** See `createFetcher` for the limits of a fetch. */
export function createJsonFetcher(
  options: FetchOptions,
  fetcher: Fetcher = createFetcher(options),
): JsonFetcher {
  return {
    async fetch(url, { what, accept, forSite }) {
      const checkType = (type: string | undefined) =>
        type !== undefined && JSON_TYPE.test(type)
          ? undefined
          : `the ${what} has a Content-Type other than JSON`
      const fetched = await fetcher.fetch(url, { what, accept, forSite, checkType })
      if ('fault' in fetched) return fetched
      if (!isUtf8(fetched.bytes)) return invalid(`the ${what} is not UTF-8`)
      const json = parseJson(fetched.bytes.toString('utf8'), { depthMax: JSON_DEPTH_MAX })
      return 'fault' in json ? invalid(`the ${what} is not strict JSON`) : { json: json.value }
    },
  }
}

function invalid(fault: string): FetchFault {
  return { fault, hasAnswered: true }
}
