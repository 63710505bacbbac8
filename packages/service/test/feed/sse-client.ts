import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { Entry, Heartbeat } from '@countersign/core'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { expect } from 'vitest'
import { checkContract } from '../contract-check.ts'

/** A reader of a feed that knows nothing of ours: its parser is a library. */
export interface SseClient {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly events: readonly EventSourceMessage[]
  readonly retryMs: number | undefined
  readonly isClosed: boolean
  /** All entries so far. */
  readonly entries: readonly Entry[]
  readonly heartbeats: readonly Heartbeat[]
  /** Resolves with the first event that fits, from now or before. */
  until(fits: (event: EventSourceMessage) => boolean, timeoutMs?: number): Promise<EventSourceMessage>
  untilClosed(timeoutMs?: number): Promise<void>
  /** Stops reading, without a word. */
  pause(): void
  resume(): void
  close(): void
}

const WAIT_MS = 60_000

export function follow(
  port: number,
  siteId: string,
  options: {
    readonly key?: string
    readonly query?: string
    readonly headers?: Readonly<Record<string, string>>
    /** The feed for people, with the session in its headers. */
    readonly isConsole?: boolean
  } = {},
): Promise<SseClient> {
  const { key, query = '', headers = {}, isConsole = false } = options
  const path = `${isConsole ? '/console' : ''}/api/sites/${siteId}/feed${query}`
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: '127.0.0.1',
      port,
      path,
      agent: false,
      headers: {
        accept: 'text/event-stream',
        ...(key === undefined ? {} : { 'x-api-key': key }),
        ...headers,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const events: EventSourceMessage[] = []
      let [text, isClosed] = ['', false]
      let retryMs: number | undefined
      const parser = createParser({
        onEvent: (event) => void events.push(event),
        onRetry: (ms) => (retryMs = ms),
      })
      const dataOf = (isHeartbeat: boolean) =>
        events.flatMap(({ event, data }) =>
          (event === 'heartbeat') === isHeartbeat ? [JSON.parse(data)] : [],
        )
      response.setEncoding('utf8')
      response.on('data', (piece: string) => {
        text += piece
        parser.feed(piece)
      })
      response.on('error', () => {})
      response.on('close', () => {
        isClosed = true
        // A stream that is cut may end within an event.
        const whole = response.statusCode === 200 ? text.slice(0, text.lastIndexOf('\n\n') + 1) : text
        if (!isConsole)
          checkContract({
            method: 'GET',
            path,
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: whole,
          })
        if (response.statusCode !== 200) resolve(client)
      })
      const client: SseClient = {
        status: response.statusCode ?? 0,
        headers: response.headers,
        get text() {
          return text
        },
        events,
        get retryMs() {
          return retryMs
        },
        get isClosed() {
          return isClosed
        },
        get entries() {
          return dataOf(false)
        },
        get heartbeats() {
          return dataOf(true)
        },
        async until(fits, timeout = WAIT_MS) {
          await expect.poll(() => events.some(fits), { timeout, interval: 5 }).toBe(true)
          return events.find(fits) as EventSourceMessage
        },
        untilClosed: (timeout = WAIT_MS) => expect.poll(() => isClosed, { timeout, interval: 5 }).toBe(true),
        pause: () => void response.pause(),
        resume: () => void response.resume(),
        close: () => void request.destroy(),
      }
      if (response.statusCode === 200) resolve(client)
    })
    request.end()
  })
}
