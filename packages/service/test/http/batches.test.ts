import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { rateLimits } from '@countersign/core/contract'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createBatches } from '../../src/http/batches.ts'
import { Problem } from '../../src/problem.ts'
import type { Routes } from '../../src/routes/all.ts'
import { type AppDouble, createAppDouble } from './app-double.ts'

describe('what arrives in one turn of the event loop', () => {
  test('is handled together, in order, at the end of the turn', async () => {
    const seen: (readonly number[])[] = []
    const add = createBatches<number>((batch) => seen.push(batch))
    for (const n of [1, 2, 3]) add(n)
    await Promise.resolve()
    expect(seen).toEqual([])
    await nextTurn()
    expect(seen).toEqual([[1, 2, 3]])
    add(4)
    await nextTurn()
    expect(seen).toEqual([[1, 2, 3], [4]])
  })

  test('is handled as soon as there are 16', async () => {
    const seen: string[] = []
    const add = createBatches<number>((batch) => seen.push(`${batch[0]} to ${batch.at(-1)}`))
    for (let n = 1; n <= 40; n++) add(n)
    expect(seen).toEqual(['1 to 16', '17 to 32'])
    await nextTurn()
    expect(seen).toEqual(['1 to 16', '17 to 32', '33 to 40'])
  })

  test('and comes while a batch is handled is in a later one', async () => {
    const seen: (readonly number[])[] = []
    const add = createBatches<number>((batch) => {
      seen.push(batch)
      if (batch[0] === 1) add(2)
    })
    add(1)
    await vi.waitFor(() => expect(seen).toEqual([[1], [2]]))
  })
})

const ACT = 'POST /api/protected/action HTTP/1.1'
const CREDENTIAL = ['X-Service-Credential: abc']
const JSON_BODY = ['Content-Type: application/json', 'Content-Length: 2']

describe('requests that arrive in one turn', () => {
  let double: AppDouble
  afterEach(() => double.app.close())
  const open = async (routes: Routes, failures?: number) => {
    const failed = { ...rateLimits.failed_presentation, requests: failures ?? 1000 }
    const config = { rateLimits: { ...rateLimits, failed_presentation: failed } }
    double = createAppDouble({ routes, config })
    return (await double.app.listen()).port
  }
  const head = (line: string, more: readonly string[] = []) =>
    [line, 'Host: id.example', ...more, '', ''].join('\r\n')

  const alive = async () => ({ status: 200 as const, body: { status: 'alive' as const } })

  /** Sends so many requests at once, and counts after each how many have not been handled. */
  async function countWaiting(count: number): Promise<number[]> {
    let handled = 0
    const waiting: number[] = []
    const port = await open({
      alive: () => {
        handled++
        return alive()
      },
    })
    // Runs behind the listener of the app.
    double.app.server.on('request', () => waiting.push(waiting.length + 1 - handled))
    const socket = connect(port, '127.0.0.1').resume()
    socket.write(head('GET /healthz HTTP/1.1').repeat(count))
    await vi.waitFor(() => expect(handled).toBe(count), 20_000)
    socket.destroy()
    return waiting
  }

  test('are handled behind the last of them', async () => {
    expect(await countWaiting(5)).toEqual([1, 2, 3, 4, 5])
  })

  test('are handled before more than 15 wait, however many a client sends (A225)', {
    tags: 'long',
  }, async () => {
    expect(Math.max(...(await countWaiting(10_000)))).toBe(15)
  })

  test('are answered in the order in which they were sent', async () => {
    const port = await open({ alive })
    const socket = connect(port, '127.0.0.1')
    const ids = Array.from({ length: 40 }, (_, n) => `request-${n}`)
    socket.write(ids.map((id) => head('GET /healthz HTTP/1.1', [`X-Request-Id: ${id}`])).join(''))
    let text = ''
    for await (const piece of socket) {
      text += String(piece)
      if (text.split('"alive"').length > ids.length) break
    }
    expect(text.match(/request-\d+/g)).toEqual(ids)
  })

  // The rate limit must find a caller that has closed its connection.
  test.each([
    ['a credential', head(ACT, CREDENTIAL)],
    ['a body, which is read later', `${head(ACT, [...CREDENTIAL, ...JSON_BODY])}{}`],
  ])('count against their sender though its connection is gone by then: %s', async (_, text) => {
    const fail = async () => {
      throw new Problem('issuer_untrusted')
    }
    const port = await open({ protected_action: fail }, 5)
    const { server } = double.app
    // Runs behind the listener of the app, and before the end of the turn.
    const cut = (message: { socket: { destroy(): void } }) => message.socket.destroy()
    server.on('request', cut)
    for (let n = 0; n < 5; n++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.write(text)
      await once(socket, 'close')
    }
    server.off('request', cut)
    const socket = connect(port, '127.0.0.1')
    socket.write(text)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(String(answer)).toMatch(/^HTTP\/1\.1 429 /)
  })
})
