import { isLoopback } from '@countersign/core/contract'
import { guardedRequest, isAllowedUrl, type RequestRules } from './guarded-request.ts'

/** Why something could not be loaded. */
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

interface Wanted {
  /** Names what is fetched in messages, for example `DID document`. */
  readonly what: string
  readonly accept: string
  /** The site that requested it. Undefined: the service itself. */
  readonly forSite?: string | undefined
  /** What is wrong with a Content-Type. Without it every type is accepted. */
  readonly checkType?: (type: string | undefined) => string | undefined
}

export interface Fetcher {
  /**
   * Loads the bytes of a URL that another party has chosen. Each site may have a few fetches at a
   * time, so that slow hosts of one site do not block the others.
   */
  fetch(url: URL, wanted: Wanted): Promise<{ readonly bytes: Buffer } | FetchFault>
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

/**
 * Connects to public addresses over https only, follows no redirects, and gives up after 5 s or
 * 64 KiB. Every address of the name is checked when the connection is made.
 */
export function createFetcher(options: FetchOptions): Fetcher {
  /** The site of each fetch on request that is running. */
  const running: string[] = []
  return {
    async fetch(url, wanted) {
      const { what, forSite } = wanted
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
      try {
        return { bytes: await fetchBytes(url, options, wanted) }
      } catch (cause) {
        return cause instanceof InvalidAnswer
          ? { fault: cause.message, cause, hasAnswered: true }
          : { fault: `the ${what} could not be fetched`, cause, hasAnswered: false }
      } finally {
        if (forSite !== undefined) running.splice(running.indexOf(forSite), 1)
      }
    },
  }
}

/** The host has answered, and its answer is invalid. */
class InvalidAnswer extends Error {}

async function fetchBytes(
  url: URL,
  options: FetchOptions,
  { what, accept, checkType }: Wanted,
): Promise<Buffer> {
  if (!isLoopback(url) && !isAllowedUrl(url, options))
    throw new InvalidAnswer(`a ${what} is fetched over https, from port 443 or 8443 only`)
  const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'countersign' }
  const signal = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS)
  const answer = await guardedRequest(url, { method: 'GET', headers, signal }, options)
  const { statusCode, headers: fields } = answer
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    if (statusCode !== 200)
      throw new InvalidAnswer(`the host answered, but not with a ${what}; redirects are not followed`)
    const wrongType = checkType?.(fields['content-type'])
    if (wrongType !== undefined) throw new InvalidAnswer(wrongType)
    const encoding = fields['content-encoding']
    if (encoding !== undefined && encoding !== 'identity')
      throw new InvalidAnswer(`the ${what} is compressed`)
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > BYTES_MAX) throw new InvalidAnswer(`the ${what} is larger than 64 KiB`)
      chunks.push(chunk)
    }
  } finally {
    answer.destroy()
  }
  if (!answer.complete) throw new Error('the answer was cut off')
  return Buffer.concat(chunks)
}
