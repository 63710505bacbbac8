import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import * as express from '../../src/adapters/express.ts'
import * as fastify from '../../src/adapters/fastify.ts'
import * as fetch from '../../src/adapters/fetch.ts'
import * as hono from '../../src/adapters/hono.ts'
import { joinTurn } from '../../src/adapters/join-turn.ts'
import * as mcp from '../../src/adapters/mcp.ts'
import type { Guard } from '../../src/guard/guard.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.resetModules()
})

describe('requests of one turn of the event loop', () => {
  test('go on together, in order, at the end of the turn', async () => {
    const order: string[] = []
    const gone = [1, 2, 3].map((n) => joinTurn()?.then(() => order.push(`request ${n}`)))
    for (let i = 0; i < 10; i++) await undefined
    expect(order).toEqual([])
    setImmediate(() => order.push('later'))
    await Promise.all(gone)
    expect(order).toEqual(['request 1', 'request 2', 'request 3'])
  })

  test('do not wait any longer when there are 16', async () => {
    const turns = Array.from({ length: 40 }, joinTurn)
    expect(new Set(turns.slice(0, 16)).size).toBe(1)
    expect(new Set(turns.slice(16, 32)).size).toBe(1)
    expect(new Set(turns).size).toBe(3)
    const order: number[] = []
    for (const [n, turn] of turns.entries()) void turn?.then(() => order.push(n))
    for (let i = 0; i < 10; i++) await undefined
    expect(order).toEqual(Array.from({ length: 32 }, (_, n) => n))
    await turns.at(-1)
    expect(turns).not.toContain(joinTurn())
  })

  test('keep their own asynchronous context', async () => {
    const context = new AsyncLocalStorage<number>()
    const go = (n: number) =>
      context.run(n, async () => {
        await joinTurn()
        return context.getStore()
      })
    expect(await Promise.all([1, 2, 3].map(go))).toEqual([1, 2, 3])
  })

  test('are not stopped by the false clocks of a test', async () => {
    vi.useFakeTimers()
    await expect(joinTurn()).resolves.toBeUndefined()
  })

  test('do not wait in a runtime without setImmediate', async () => {
    vi.resetModules()
    vi.stubGlobal('setImmediate', undefined)
    const { joinTurn: joinThere } = await import('../../src/adapters/join-turn.ts')
    expect(joinThere()).toBeUndefined()
  })

  test('do not wait either where it only throws', async () => {
    vi.resetModules()
    vi.stubGlobal('setImmediate', () => {
      throw new Error('not supported at the edge')
    })
    const { joinTurn: joinThere } = await import('../../src/adapters/join-turn.ts')
    await expect(joinThere()).resolves.toBeUndefined()
    expect(joinThere()).toBeUndefined()
  })
})

/** A guard that rejects everything, and says when it was asked. */
function createGuardDouble() {
  const denial = { ok: false, status: 401, code: 'credential_missing', headers: {}, problem: {} }
  const verify = vi.fn(async () => denial)
  const unused = () => {
    throw new Error('not asked')
  }
  return { guard: { verify, recheck: unused, signal: unused } as unknown as Guard, verify }
}

const message = () => ({ method: 'GET', url: '/', headers: {}, rawHeaders: [], httpVersionMajor: 1 })
const response = () => ({
  writeHead: () => {},
  end: () => {},
  once: () => {},
  code: () => {},
  send: () => {},
})

describe('an adapter asks its guard at the end of the turn', () => {
  const calls: Record<string, (guard: Guard) => unknown> = {
    express: (guard) => express.requireCredential(guard)(message() as never, response() as never, () => {}),
    fastify: (guard) => {
      const raw = message()
      const reply = { ...response(), raw: response(), headers: () => {} }
      return fastify.requireCredential(guard)({ raw, originalUrl: '/' } as never, reply as never, raw)
    },
    hono: (guard) =>
      hono.requireCredential(guard)(
        { req: { raw: new Request('http://a.example') } } as never,
        async () => {},
      ),
    fetch: (guard) =>
      fetch.requireCredential(guard, () => new Response('ok'))(new Request('http://a.example')),
    mcp: (guard) => mcp.requireCredential(guard)(message() as never, response() as never, () => {}),
  }
  test.each(Object.entries(calls))('%s', async (_, call) => {
    const { guard, verify } = createGuardDouble()
    void call(guard)
    for (let i = 0; i < 20; i++) await undefined
    expect(verify).not.toHaveBeenCalled()
    await vi.waitFor(() => expect(verify).toHaveBeenCalledOnce())
  })
})
