import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { joinTurn } from '../../src/adapters/join-turn.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.resetModules()
})

describe('requests of one turn of the event loop', () => {
  test('go on together, at most 16 of them', async () => {
    const turns = Array.from({ length: 40 }, joinTurn)
    expect(new Set(turns.slice(0, 16)).size).toBe(1)
    expect(new Set(turns.slice(16, 32)).size).toBe(1)
    expect(new Set(turns).size).toBe(3)
    const order: number[] = []
    await Promise.all(turns.map((turn, n) => turn?.then(() => order.push(n))))
    expect(order).toEqual(turns.map((_, n) => n))
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
})
