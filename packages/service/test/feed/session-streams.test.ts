import type { SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import type { FeedStream } from '../../src/feed/feed-stream.ts'
import { SessionStreams } from '../../src/feed/session-streams.ts'

const A = 'a.example' as SiteId
const IDLE_MS = limits.console_idle_seconds * 1000
const HOUR = 3_600_000

let nowMs: number
let seenAtMs: number
let fault: Error | undefined
let asked: string[][]
let ended: string[]
let streams: SessionStreams
beforeEach(() => {
  ;[nowMs, seenAtMs, fault, asked, ended] = [HOUR, HOUR, undefined, [], []]
  const store = {
    async consoleSessionsBySha256(sha256s: readonly string[]) {
      asked.push([...sha256s])
      if (fault !== undefined) throw fault
      return sha256s.map((sha256) => ({
        session: { sha256, expiresAtMs: 13 * HOUR, seenAtMs },
        person: { roles: [{ siteId: A, role: 'viewer' }] },
      })) as never
    },
  }
  streams = new SessionStreams({ store, clock: { nowMs: () => nowMs } })
})

const add = (name: string, sha256 = name, expiresAtMs = 13 * HOUR): FeedStream => {
  const close = () => {
    ended.push(name)
    streams.remove(stream)
  }
  const stream = { verifier: { siteId: A }, close } as unknown as FeedStream
  streams.add(stream, { sha256, expiresAtMs })
  return stream
}

describe('streams of people', () => {
  it('end after the idle time of their session, which they do not prolong', async () => {
    add('one')
    nowMs = seenAtMs + IDLE_MS - 1
    await streams.check()
    expect(ended).toEqual([])
    nowMs++
    await streams.check()
    expect(ended).toEqual(['one'])
  })

  it('end when their session expires, also without the store', async () => {
    add('one', 'one', nowMs + 10)
    add('two')
    fault = new Error('away')
    nowMs += 10
    await expect(streams.check()).rejects.toBe(fault)
    expect(ended).toEqual(['one'])
    fault = undefined
    await streams.check()
    expect(ended).toEqual(['one'])
  })

  it('are looked up once for each session, in bounded queries', async () => {
    for (let i = 0; i < 300; i++) {
      add(`a${i}`, `s${i}`)
      add(`b${i}`, `s${i}`)
    }
    await streams.check()
    expect(asked.map((each) => each.length)).toEqual([256, 44])
    expect(ended).toEqual([])
    streams.remove(add('gone'))
    asked = []
    await streams.check()
    expect(asked.flat()).not.toContain('gone')
  })

  it('ask nothing when there are none', async () => {
    await streams.check()
    expect(asked).toEqual([])
  })
})
