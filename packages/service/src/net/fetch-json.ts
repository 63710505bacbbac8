import { isUtf8 } from 'node:buffer'
import { type JsonValue, parseJson } from '@countersign/core'
import { isLoopback } from '@countersign/core/contract'
import { guardedRequest, isAllowedUrl, type RequestRules } from './guarded-request.ts'

/** Why a document could not be loaded. */
export interface FetchFault {
  /**
   * A message for the administrator of the site, which does not reveal whether a port is open.
   */
  readonly fault: string
  /** For the log. */
  readonly cause?: unknown
  /** Whether the host has answered, and only its answer is invalid. */
  readonly hasAnswered: boolean
}

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

export interface FetchOptions extends RequestRules {
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

/**
 * Connects to public addresses over https only, follows no redirects, and gives up after 5 s or
 * 64 KiB. Every address of the name is checked when the connection is made.
 */
export function createJsonFetcher(options: FetchOptions): JsonFetcher {
  /** The site of each fetch on request that is running. */
  const running: string[] = []
  return {
    async fetch(url, { what, accept, forSite }) {
      if (forSite !== undefined) {
        const isTooMuch =
          running.length >= RUNNING_MAX ||
          running.filter((site) => site === forSite).length >= RUNNING_OF_SITE_MAX
        if (isTooMuch)
          return {
            fault: `too many ${what}s are being fetched at the moment; try again`,
            hasAnswered: false,
          }
        running.push(forSite)
      }
      let text: string
      try {
        text = await fetchText(url, options, what, accept)
      } catch (cause) {
        return cause instanceof InvalidAnswer
          ? { fault: cause.message, cause, hasAnswered: true }
          : { fault: `the ${what} could not be fetched`, cause, hasAnswered: false }
      } finally {
        if (forSite !== undefined) running.splice(running.indexOf(forSite), 1)
      }
      const json = parseJson(text, { depthMax: JSON_DEPTH_MAX })
      return 'fault' in json
        ? { fault: `the ${what} is not strict JSON`, hasAnswered: true }
        : { json: json.value }
    },
  }
}

/** The host has answered, and its answer is invalid. */
class InvalidAnswer extends Error {}

async function fetchText(url: URL, options: FetchOptions, what: string, accept: string): Promise<string> {
  if (!isLoopback(url) && !isAllowedUrl(url, options))
    throw new InvalidAnswer(`a ${what} is fetched over https, from port 443 or 8443 only`)
  const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'countersign' }
  const signal = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS)
  const answer = await guardedRequest(url, { method: 'GET', headers, signal }, options)
  const { statusCode, headers: fields } = answer
  const fault = answerFault(what, statusCode, fields['content-type'], fields['content-encoding'])
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    if (fault !== undefined) throw new InvalidAnswer(fault)
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > BYTES_MAX) throw new InvalidAnswer(`the ${what} is larger than 64 KiB`)
      chunks.push(chunk)
    }
  } finally {
    answer.destroy()
  }
  if (!answer.complete) throw new Error('the answer was cut off')
  const all = Buffer.concat(chunks)
  if (!isUtf8(all)) throw new InvalidAnswer(`the ${what} is not UTF-8`)
  return all.toString('utf8')
}

function answerFault(
  what: string,
  status: number | undefined,
  type: string | undefined,
  encoding: string | undefined,
): string | undefined {
  if (status !== 200) return `the host answered, but not with a ${what}; redirects are not followed`
  if (type === undefined || !JSON_TYPE.test(type)) return `the ${what} has a Content-Type other than JSON`
  return encoding === undefined || encoding === 'identity' ? undefined : `the ${what} is compressed`
}
