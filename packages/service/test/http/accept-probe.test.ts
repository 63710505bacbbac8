import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createAcceptGauge, openAcceptProbe } from '../../src/http/accept-probe.ts'

describe('the delay of new connections (B2)', () => {
  const started = () => {
    const now = { ms: 0 }
    const dialed: number[] = []
    const gauge = createAcceptGauge(
      () => dialed.push(now.ms),
      () => now.ms,
    )
    const tickAt = (ms: number) => {
      now.ms = ms
      gauge.tick()
      return gauge.delayMs()
    }
    const acceptAt = (ms: number) => {
      now.ms = ms
      gauge.accepted()
    }
    return { dialed, tickAt, acceptAt }
  }

  test('is what the last two connections waited at least', () => {
    const { tickAt, acceptAt } = started()
    tickAt(0)
    acceptAt(400)
    expect(tickAt(500)).toBe(0)
    acceptAt(800)
    expect(tickAt(1000)).toBe(300)
    acceptAt(1001)
    expect(tickAt(1250)).toBe(1)
  })
  test('grows while a connection waits, and no second one is opened meanwhile', () => {
    const { dialed, tickAt, acceptAt } = started()
    expect([0, 250, 500, 750].map(tickAt)).toEqual([0, 0, 250, 500])
    expect(dialed).toEqual([0])
    acceptAt(900)
    tickAt(1000)
    expect(dialed).toEqual([0, 1000])
  })
})

const opened: { close(): void }[] = []
afterEach(() => {
  for (const each of opened.splice(0)) each.close()
})
async function listening(): Promise<Server> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push({ close: () => void server.close().closeAllConnections() })
  return server
}

describe('the probe', () => {
  test('connects again as soon as it was accepted, and leaves no connection behind', {
    tags: 'long',
  }, async () => {
    const server = await listening()
    const accepted: Socket[] = []
    const third = new Promise<void>((resolve) => {
      server.on('connection', (socket) => {
        accepted.push(socket)
        if (accepted.length === 3) resolve()
      })
    })
    const probe = openAcceptProbe(server)
    opened.push(probe)
    await third
    expect(probe.delayMs()).toBeGreaterThanOrEqual(0)
    probe.close()
    await Promise.all(
      accepted.map((socket) => socket.destroyed || new Promise((resolve) => socket.once('close', resolve))),
    )
  })
  test('counts a connection that is not accepted as waiting', { tags: 'long' }, async () => {
    const server = await listening()
    // The process does not see it: the same as a long queue.
    const emit = server.emit.bind(server)
    server.emit = (event: string, ...args: unknown[]) =>
      event === 'connection' ? false : emit(event, ...args)
    const probe = openAcceptProbe(server)
    opened.push(probe)
    await expect.poll(probe.delayMs).toBeGreaterThan(250)
  })
})
