import { isUtf8 } from 'node:buffer'
import {
  type DidKey,
  isJsonObject,
  type JsonValue,
  parseDidWeb,
  parseJson,
  readDidDocument,
} from '@countersign/core'
import { isLoopback } from '@countersign/core/contract'
import { guardedRequest, isAllowedUrl, type RequestRules } from '../net/guarded-request.ts'

/** The keys that a DID document names for signing credentials. There may be none. */
interface FetchedKeys {
  readonly keys: readonly DidKey[]
  /** Keys of the document that are ignored, and why. */
  readonly leftOut: readonly { readonly id: string; readonly why: string }[]
}

/** Fetches DID documents from other hosts. Never called during a verification. */
export interface DidWebFetcher {
  /**
   * `fault` is a message for the administrator of the site, and does not reveal whether a port is
   * open. `cause` is for the log. `forSite` is the site that requested it. Each site may have a few
   * fetches at a time, so that slow hosts of one site do not block the others.
   */
  fetch(
    did: string,
    forSite?: string,
  ): Promise<FetchedKeys | { readonly fault: string; readonly cause?: unknown }>
}

export interface DidWebOptions extends RequestRules {
  /** For tests. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 5000
/**
 * Limits for fetches on request: of one site, and of all sites. The regular refresh has its own.
 */
const RUNNING_OF_SITE_MAX = 4
const RUNNING_MAX = 32
const BYTES_MAX = 64 * 1024
const JSON_DEPTH_MAX = 16
const JSON_TYPE = /^application\/(?:json|[a-z0-9.+-]+\+json)\s*(?:;|$)/i
const NO_DOCUMENT = 'the host answered, but not with a DID document; redirects are not followed'
const NOT_FETCHED = 'the DID document could not be fetched'

/**
 * Connects to public addresses over https only, follows no redirects, and gives up after 5 s or
 * 64 KiB. Every address of the name is checked when the connection is made.
 */
export function createDidWebFetcher(options: DidWebOptions): DidWebFetcher {
  /** The site of each fetch on request that is running. */
  const running: string[] = []
  return {
    async fetch(did, forSite) {
      const location = parseDidWeb(did)
      if (location === undefined)
        return { fault: 'this is not a did:web with a host name and plain path segments' }
      if (forSite !== undefined) {
        const isTooMuch =
          running.length >= RUNNING_MAX ||
          running.filter((site) => site === forSite).length >= RUNNING_OF_SITE_MAX
        if (isTooMuch) return { fault: 'too many DID documents are being fetched at the moment; try again' }
        running.push(forSite)
      }
      let text: string
      try {
        text = await fetchText(new URL(location.url), options)
      } catch (cause) {
        return { fault: cause instanceof InvalidAnswer ? cause.message : NOT_FETCHED, cause }
      } finally {
        if (forSite !== undefined) running.splice(running.indexOf(forSite), 1)
      }
      const json = parseJson(text, { depthMax: JSON_DEPTH_MAX })
      if ('fault' in json) return { fault: 'the DID document is not strict JSON' }
      return namesNoKeys(json.value, did) ? { keys: [], leftOut: [] } : readDidDocument(json.value, did)
    },
  }
}

/** The host has answered, and its answer is invalid. */
class InvalidAnswer extends Error {}

async function fetchText(location: URL, options: DidWebOptions): Promise<string> {
  const { allowLoopback, timeoutMs = TIMEOUT_MS } = options
  const url = new URL(location)
  if (allowLoopback && isLoopback(url)) url.protocol = 'http:'
  else if (!isLoopback(url) && !isAllowedUrl(url, options))
    throw new InvalidAnswer('a DID document is fetched from port 443 or 8443 only')
  const headers = {
    accept: 'application/did+json, application/json',
    'accept-encoding': 'identity',
    'user-agent': 'countersign',
  }
  const answer = await guardedRequest(
    url,
    { method: 'GET', headers, signal: AbortSignal.timeout(timeoutMs) },
    options,
  )
  const { statusCode, headers: fields } = answer
  const fault = answerFault(statusCode, fields['content-type'], fields['content-encoding'])
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    if (fault !== undefined) throw new InvalidAnswer(fault)
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > BYTES_MAX) throw new InvalidAnswer('the DID document is larger than 64 KiB')
      chunks.push(chunk)
    }
  } finally {
    answer.destroy()
  }
  if (!answer.complete) throw new Error('the answer was cut off')
  return decode(Buffer.concat(chunks))
}

function answerFault(
  status: number | undefined,
  type: string | undefined,
  encoding: string | undefined,
): string | undefined {
  if (status !== 200) return NO_DOCUMENT
  if (type === undefined || !JSON_TYPE.test(type))
    return 'the DID document has a Content-Type other than JSON'
  return encoding === undefined || encoding === 'identity' ? undefined : 'the DID document is compressed'
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new InvalidAnswer('the DID document is not UTF-8')
  return bytes.toString('utf8')
}

/** A valid document of this DID that names no signing keys. This is not a fault. */
function namesNoKeys(document: JsonValue, did: string): boolean {
  if (!isJsonObject(document) || document.id !== did) return false
  const { assertionMethod } = document
  return assertionMethod === undefined || (Array.isArray(assertionMethod) && assertionMethod.length === 0)
}
