import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openKeyUses } from '../../src/keys/key-uses.ts'
import type { ApiKeyUse } from '../../src/store/operations/api-keys.ts'

const HOUR = 3_600_000
const T = Date.UTC(2026, 10, 14, 12)

describe('the use of API keys', () => {
  let written: ApiKeyUse[][] = []
  let fault: Error | undefined
  const warned: unknown[] = []
  const open = () =>
    openKeyUses({
      store: {
        async recordKeyUses(uses) {
          if (fault !== undefined) throw fault
          written.push([...uses])
        },
      },
      log: { warn: (line: unknown) => void warned.push(line) },
    })
  beforeEach(() => {
    vi.useFakeTimers()
    written = []
    warned.length = 0
    fault = undefined
  })
  afterEach(() => void vi.useRealTimers())
  const minute = () => vi.advanceTimersByTimeAsync(75_000)

  test('is written by the hour, once, however often a key is used', async () => {
    const uses = open()
    for (let i = 0; i < 1000; i++) uses.record('key_1', T + i)
    expect(written).toEqual([])
    await minute()
    expect(written).toEqual([[{ keyId: 'key_1', usedAtMs: T }]])
    for (let i = 0; i < 1000; i++) uses.record('key_1', T + HOUR - 1)
    await minute()
    expect(written).toHaveLength(1)
    uses.record('key_1', T + HOUR)
    uses.record('key_2', T + HOUR)
    await minute()
    expect(written[1]).toEqual([
      { keyId: 'key_1', usedAtMs: T + HOUR },
      { keyId: 'key_2', usedAtMs: T + HOUR },
    ])
    await uses.close()
  })

  test('waits while the store fails, and is written at the end', async () => {
    const uses = open()
    fault = new Error('down')
    uses.record('key_1', T)
    await minute()
    expect([written, warned.length > 0]).toEqual([[], true])
    fault = undefined
    await uses.close()
    expect(written).toEqual([[{ keyId: 'key_1', usedAtMs: T }]])
  })

  test('is bounded: 500 keys for each transaction, 10,000 in all', async () => {
    const uses = open()
    for (let i = 0; i < 10_500; i++) uses.record(`key_${i}`, T)
    await uses.close()
    expect(written).toHaveLength(20)
    expect(new Set(written.map(({ length }) => length))).toEqual(new Set([500]))
  })

  test('never fails the end of the service', async () => {
    const uses = open()
    fault = new Error('down')
    uses.record('key_1', T)
    await expect(uses.close()).resolves.toBeUndefined()
  })
})
