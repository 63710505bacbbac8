import { systemClock } from '@countersign/sdk'
import { createFeedKeys, createSseReader, readHeartbeat } from '@countersign/sdk/feed'
import type { Target } from '../service/connection.ts'
import { type Finding, ok, problem, skipped } from './finding.ts'

/** The first heartbeat comes immediately, then one every five seconds. */
const HEARTBEATS_MS_MAX = 9000
const HEARTBEATS = 2
const AGE_MS_MAX = 10_000

const BUFFERED =
  'A proxy buffers the stream. nginx: set proxy_buffering off, and no gzip for text/event-stream. Caddy: flush_interval -1. Apache: SetEnv proxy-sendchunked 1. CDN: do not cache or transform it.'

/** A heartbeat, and when it arrived. */
interface Heard {
  readonly data: string
  readonly atMs: number
}

/**
 * Checks that the feed arrives without buffering, is signed and is fresh. It waits for two
 * heartbeats.
 */
export async function checkFeed({ baseUrl, apiKey, siteId }: Target): Promise<readonly Finding[]> {
  if (apiKey === undefined || siteId === undefined)
    return [skipped('feed', 'This check needs a site and a key with feed:read.')]
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), HEARTBEATS_MS_MAX)
  const heard: Heard[] = []
  // Receipts do not count an observer.
  const feed = `${baseUrl}/api/sites/${siteId}/feed?observe=1`
  try {
    const response = await fetch(feed, {
      headers: { 'x-api-key': apiKey, accept: 'text/event-stream', 'feed-version': '1' },
      redirect: 'manual',
      signal: stop.signal,
    })
    const fault = await describeRejection(response)
    if (fault !== undefined) return [fault]
    const reader = createSseReader()
    for await (const chunk of response.body ?? []) {
      for (const { event, data } of reader.push(chunk)) {
        if (event !== 'heartbeat') continue
        heard.push({ data, atMs: Date.now() })
      }
      if (heard.length >= HEARTBEATS) break
    }
  } catch (fault) {
    if (!stop.signal.aborted)
      return [
        problem(
          'feed',
          `The stream was interrupted: ${fault instanceof Error ? fault.message : String(fault)}`,
          BUFFERED,
        ),
      ]
  } finally {
    clearTimeout(timer)
    stop.abort()
  }
  const [first] = heard
  if (first === undefined || heard.length < HEARTBEATS) {
    const words = first === undefined ? 'No heartbeat arrives' : 'Only one heartbeat arrives'
    return [
      problem(
        'feed',
        `${words} within ${HEARTBEATS_MS_MAX / 1000} s. The service sends one every 5 s.`,
        BUFFERED,
      ),
    ]
  }
  return [ok('feed', 'The feed arrives without buffering.'), await checkSigned(baseUrl, first)]
}

async function describeRejection(response: Response): Promise<Finding | undefined> {
  if (response.status === 200 && response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const encoding = response.headers.get('content-encoding')
    return encoding === null
      ? undefined
      : problem('feed', `A proxy compresses the stream (${encoding}).`, BUFFERED)
  }
  const { code, detail } = ((await response.json().catch(() => undefined)) ?? {}) as {
    code?: unknown
    detail?: unknown
  }
  if (code === 'api_key_forbidden' || code === 'not_found')
    return skipped('feed', 'This key may not follow the site. Use one with feed:read.')
  if (response.status === 200) return problem('feed', 'The response is not an event stream.', BUFFERED)
  return problem(
    'feed',
    `The service rejected the request: ${typeof detail === 'string' ? detail : `status ${response.status}.`}`,
    'Check the key, and read the log of the service.',
  )
}

async function checkSigned(baseUrl: string, heard: Heard): Promise<Finding> {
  const discovery = async () =>
    (await fetch(`${baseUrl}/.well-known/countersign`, { redirect: 'manual' })).json()
  const keys = createFeedKeys({ pinned: undefined, discovery, clock: systemClock })
  const { proof } = await readHeartbeat(heard, keys, new AbortController().signal)
  if (proof === undefined)
    return problem(
      'view',
      'No feed key that the service lists has signed the heartbeats.',
      'Check the address, and that all nodes share one store and one master key.',
    )
  const ageMs = heard.atMs - proof.asOfMs
  if (ageMs > AGE_MS_MAX)
    return problem(
      'view',
      `The view of the service is ${Math.round(ageMs / 1000)} s old.`,
      'Check the store of the service, and compare both clocks.',
    )
  return ok(
    'view',
    `The log is at ${proof.epoch}.${proof.seq}, signed ${Math.max(Math.round(ageMs), 0)} ms before it arrived.`,
  )
}
