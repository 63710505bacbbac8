import {
  createEntry,
  type Entry,
  type EntryBodies,
  type EntryKind,
  formatTime,
  type Heartbeat,
  type LogHead,
} from '@countersign/core'
import type { TestSite } from '../src/testing/test-site.ts'
import { meddled } from './network.ts'

type Forged = { readonly [Kind in EntryKind]: readonly [kind: Kind, body: EntryBodies[Kind]] }[EntryKind]

/**
 * A relay past TLS: it can add entries with correct hashes to the feed and hold heartbeats back,
 * but it has no feed key.
 */
export interface ForgingRelay {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /**
   * Adds these after the next heartbeat that passes, and holds back the heartbeats after that one.
   */
  forge(...entries: readonly Forged[]): void
  /**
   * Lets everything pass. With `again` the entries of the last `forge` are added once more after
   * the next heartbeat.
   */
  release(options?: { readonly again?: boolean }): void
  /** Holds back every heartbeat from now on. */
  withhold(): void
  /** Breaks the connections that are open. */
  cut(): void
  /** What it has added, over all connections. */
  readonly added: readonly Entry[]
  /** How often it was asked, by the end of the path. */
  count(path: string): number
}

const HEARTBEAT = /event: heartbeat\ndata: (.*)\n\n/g

export function forgingRelay(site: TestSite): ForgingRelay {
  let armed: readonly Forged[] = []
  let last: readonly Forged[] = []
  let isWithholding = false
  const added: Entry[] = []
  const counts = new Map<string, number>()
  let broken = new AbortController()

  const forged = (head: LogHead): string => {
    let text = ''
    let { epoch, seq, hash } = head
    for (const [kind, body] of armed) {
      const fields = { siteId: site.log.view.siteId, kind, body, at: formatTime(site.clock.nowMs) }
      const entry = createEntry(fields, { epoch, seq, hash })
      if (entry instanceof Promise) throw new Error('this relay needs a crypto backend that answers at once')
      ;({ epoch, seq, hash } = entry)
      added.push(entry as Entry)
      text += `id: ${epoch}.${seq}\nevent: ${kind}\ndata: ${JSON.stringify(entry)}\n\n`
    }
    armed = []
    return text
  }

  const relayed = meddled(site.service.fetch, {
    feedText: (text) =>
      text.replaceAll(HEARTBEAT, (heartbeat, data: string) => {
        if (isWithholding) return ': withheld\n\n'
        if (armed.length === 0) return heartbeat
        isWithholding = true
        return heartbeat + forged(JSON.parse(data) as Heartbeat)
      }),
    before: (path) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      counts.set(name, (counts.get(name) ?? 0) + 1)
      return undefined
    },
  })

  return {
    added,
    async fetch(url, init) {
      const signals = [broken.signal, ...(init.signal ? [init.signal] : [])]
      const response = await relayed(url, { ...init, signal: AbortSignal.any(signals) })
      if (response.body === null) return response
      return new Response(
        response.body.pipeThrough(new TransformStream(), { signal: AbortSignal.any(signals) }),
        response,
      )
    },
    forge(...entries) {
      armed = entries
      last = entries
    },
    release({ again = false } = {}) {
      isWithholding = false
      if (again) armed = last
    },
    withhold() {
      isWithholding = true
    },
    cut() {
      broken.abort(new TypeError('the connection was cut'))
      broken = new AbortController()
    },
    count: (path) => counts.get(path) ?? 0,
  }
}
