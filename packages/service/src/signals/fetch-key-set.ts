import { isUtf8 } from 'node:buffer'
import { parseJson, type SiteId } from '@countersign/core'
import { readKeySet } from '../keys/oauth-keys.ts'
import { guardedRequest, type RequestRules } from '../net/guarded-request.ts'
import type { FetchKeySet } from './sender-keys.ts'

const TIMEOUT_MS = 5000
const BYTES_MAX = 64 * 1024
const JSON_DEPTH_MAX = 16
/** Of one site, and of all sites. */
const RUNNING_OF_SITE_MAX = 4
const RUNNING_MAX = 32

/**
 * Fetches key sets of senders from public addresses over https only. Follows no redirects, and
 * gives up after 5 s or 64 KiB.
 */
export function createFetchKeySet(rules: RequestRules): FetchKeySet {
  const running: SiteId[] = []
  return async (jwksUri, siteId) => {
    const ofSite = running.filter((each) => each === siteId).length
    if (running.length >= RUNNING_MAX || ofSite >= RUNNING_OF_SITE_MAX)
      return { fault: 'too many key sets are being fetched at the moment' }
    running.push(siteId)
    try {
      const json = parseJson(await fetchText(new URL(jwksUri), rules), { depthMax: JSON_DEPTH_MAX })
      if ('fault' in json) return { fault: 'the key set is not strict JSON' }
      const set = await readKeySet(json.value)
      if ('fault' in set) return { fault: set.fault }
      return { keys: set.keys.map(({ kid, key }) => ({ kid: kid ?? undefined, key })) }
    } finally {
      running.splice(running.indexOf(siteId), 1)
    }
  }
}

async function fetchText(url: URL, rules: RequestRules): Promise<string> {
  const headers = {
    accept: 'application/jwk-set+json, application/json',
    'accept-encoding': 'identity',
    'user-agent': 'countersign',
  }
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const answer = await guardedRequest(url, { method: 'GET', headers, signal }, rules)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    if (answer.statusCode !== 200) throw new Error(`the host answered with ${answer.statusCode}`)
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > BYTES_MAX) throw new Error('the key set is larger than 64 KiB')
      chunks.push(chunk)
    }
  } finally {
    answer.destroy()
  }
  const body = Buffer.concat(chunks)
  if (!answer.complete || !isUtf8(body)) throw new Error('the key set was cut off, or is not UTF-8')
  return body.toString('utf8')
}
