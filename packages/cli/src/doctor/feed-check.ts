import { checkHeartbeat, parseHeartbeat } from '@countersign/core'
import { systemClock } from '@countersign/sdk'
import { createFeedKeys, createSseReader } from '@countersign/sdk/feed'
import { type Finding, ok, problem, skipped } from './finding.ts'
import type { Target } from './http-checks.ts'

/** A heartbeat comes every five seconds; the first at once. */
const HEARTBEATS_MS_MAX = 9000
const HEARTBEATS = 2
const AGE_MS_MAX = 10_000

const BUFFERED =
  'Something on the way keeps the stream back: nginx proxy_buffering off and no gzip for text/event-stream; Caddy flush_interval -1; Apache SetEnv proxy-sendchunked 1; a CDN has to be told not to cache or transform it'

/**
 * Whether the feed comes through as it is sent, is signed, and is of now. Two heartbeats have to
 * come by themselves.
 */
export async function checkFeed({ baseUrl, apiKey, siteId }: Target): Promise<readonly Finding[]> {
  if (apiKey === undefined || siteId === undefined)
    return [skipped('feed', 'give a key with feed:read and a site')]
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), HEARTBEATS_MS_MAX)
  const heard: { readonly value: unknown; readonly atMs: number }[] = []
  // Receipts do not count an observer.
  const feed = `${baseUrl}/api/sites/${siteId}/feed?observe=1`
  try {
    const response = await fetch(feed, {
      headers: { 'x-api-key': apiKey, accept: 'text/event-stream', 'feed-version': '1' },
      redirect: 'manual',
      signal: stop.signal,
    })
    const fault = await describeRefusal(response)
    if (fault !== undefined) return [fault]
    const reader = createSseReader()
    for await (const chunk of response.body ?? []) {
      for (const { event, data } of reader.push(chunk)) {
        if (event !== 'heartbeat') continue
        const value: unknown = JSON.parse(data)
        heard.push({ value, atMs: Date.now() })
      }
      if (heard.length >= HEARTBEATS) break
    }
  } catch (fault) {
    if (!stop.signal.aborted)
      return [
        problem(
          'feed',
          `the stream broke off: ${fault instanceof Error ? fault.message : String(fault)}`,
          BUFFERED,
        ),
      ]
  } finally {
    clearTimeout(timer)
    stop.abort()
  }
  if (heard.length < HEARTBEATS) {
    const words =
      heard.length === 0 ? 'nothing comes through' : 'the stream begins, and then nothing comes through'
    return [
      problem(
        'feed',
        `${words} within ${HEARTBEATS_MS_MAX / 1000} s, though a heartbeat is sent every 5 s`,
        BUFFERED,
      ),
    ]
  }
  return [ok('feed', 'comes through as it is sent'), await checkSigned(baseUrl, heard[0])]
}

async function describeRefusal(response: Response): Promise<Finding | undefined> {
  if (response.status === 200 && response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const encoding = response.headers.get('content-encoding')
    return encoding === null
      ? undefined
      : problem('feed', `the stream is compressed (${encoding}) on the way`, BUFFERED)
  }
  const { code, detail } = ((await response.json().catch(() => undefined)) ?? {}) as {
    code?: unknown
    detail?: unknown
  }
  if (code === 'api_key_forbidden' || code === 'not_found')
    return skipped('feed', 'this key may not follow the site: it needs feed:read')
  if (response.status === 200) return problem('feed', 'the answer is not a stream of events', BUFFERED)
  return problem(
    'feed',
    `refused: ${typeof detail === 'string' ? detail : `status ${response.status}`}`,
    'Look at the key and at the log of the service',
  )
}

async function checkSigned(
  baseUrl: string,
  heard: { readonly value: unknown; readonly atMs: number } | undefined,
): Promise<Finding> {
  const discovery = async () =>
    (await fetch(`${baseUrl}/.well-known/countersign`, { redirect: 'manual' })).json()
  const keys = createFeedKeys({ pinned: undefined, discovery, clock: systemClock })
  const heartbeat = parseHeartbeat(heard?.value)
  const key = heartbeat && (await keys.find(heartbeat.kid, new AbortController().signal))
  const proof = heartbeat && key && (await checkHeartbeat(heartbeat, key))
  if (proof === undefined || heard === undefined)
    return problem(
      'view',
      'heartbeats are not signed by a key that the service lists',
      'Do all nodes share one store and one master key? Is the address right?',
    )
  const ageMs = heard.atMs - proof.asOfMs
  if (ageMs > AGE_MS_MAX)
    return problem(
      'view',
      `what the service knows is ${Math.round(ageMs / 1000)} s old`,
      'Its store does not answer, or the clocks are apart: look at both',
    )
  return ok(
    'view',
    `log at ${proof.epoch}.${proof.seq}, proven ${Math.max(Math.round(ageMs), 0)} ms before it came here`,
  )
}
