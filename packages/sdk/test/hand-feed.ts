import { type Entry, formatTime, signHeartbeat } from '@countersign/core'
import { rest } from '../src/testing/test-clock.ts'
import type { TestSite } from '../src/testing/test-site.ts'
import { meddled } from './network.ts'

export type CutMode = 'reset' | 'end' | 'hang'

/** One connection to the feed, whose every byte is under our hand. */
export interface HandConnection {
  /** The last entry that the verifier says it has applied. */
  readonly afterSeq: number
  push(bytes: Uint8Array): Promise<void>
  cut(how: CutMode): Promise<void>
}

const encoder = new TextEncoder()

/** A feed that sends nothing by itself. Everything else is the service of the site. */
export function createHandFeed(site: TestSite) {
  const connections: HandConnection[] = []
  let snapshots = 0
  const fetch = meddled(site.service.fetch, {
    before: (path, init) => {
      if (path.endsWith('/snapshot')) snapshots++
      if (!path.endsWith('/feed')) return undefined
      const afterSeq = Number(new Headers(init.headers).get('last-event-id')?.split('.')[1])
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          init.signal?.addEventListener('abort', () => {
            try {
              controller.error(init.signal?.reason)
            } catch {
              // It has ended already.
            }
          })
          connections.push({
            afterSeq,
            async push(bytes) {
              if (bytes.length > 0) controller.enqueue(bytes)
              await rest(1)
            },
            async cut(how) {
              if (how === 'reset') controller.error(new TypeError('reset'))
              else if (how === 'end') controller.close()
              else await site.clock.advance(12_000)
              await rest(1)
            },
          })
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
  })

  return {
    fetch,
    get snapshots() {
      return snapshots
    },
    /** The connection that the guard makes next, or has just made. */
    async connection(): Promise<HandConnection> {
      for (let waitedMs = 0; connections.length === 0; waitedMs += 100) {
        if (waitedMs > 20_000) throw new Error('no guard connects')
        await site.clock.advance(100)
      }
      return connections.shift() as HandConnection
    },
  }
}

export const entryBytes = (entry: Entry) =>
  encoder.encode(`id: ${entry.epoch}.${entry.seq}\nevent: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`)

export async function heartbeatBytes({ log, clock, feedKey }: TestSite, aheadMs = 0): Promise<Uint8Array> {
  const { epoch, seq, hash } = log.head
  const fields = {
    site_id: log.view.siteId,
    epoch,
    seq,
    hash,
    as_of: formatTime(clock.nowMs + aheadMs),
    max_age_seconds: 60,
    kid: feedKey.kid,
  }
  return encoder.encode(
    `event: heartbeat\ndata: ${JSON.stringify(await signHeartbeat(fields, feedKey.key))}\n\n`,
  )
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}
