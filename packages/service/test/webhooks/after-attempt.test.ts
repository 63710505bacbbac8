import { limits } from '@countersign/core/contract'
import { describe, expect, it } from 'vitest'
import type { DueDelivery } from '../../src/store/operations/deliveries.ts'
import { afterAttempt } from '../../src/webhooks/after-attempt.ts'

const NOW = Date.UTC(2026, 10, 14, 12)
const HOUR = 3_600_000
const FIVE_DAYS = limits.webhook_disabled_after_seconds * 1000

const due = (attempts = 0, failingSinceMs?: number) =>
  ({ deliveryId: 'dlv_1', attempts, failingSinceMs }) as DueDelivery
const pauses = (random: number) =>
  Array.from({ length: 7 }, (_, attempts) => {
    const { end } = afterAttempt(due(attempts), { status: 500 }, NOW, random)
    return typeof end === 'object' ? end.againAtMs - NOW : Number.NaN
  })
const sum = (list: readonly number[]) => list.reduce((before, more) => before + more, 0)

describe('afterAttempt', () => {
  it('pauses longer and longer: 8 attempts in about a day, whatever the jitter', () => {
    for (const random of [0, 0.5, 0.999]) {
      const list = pauses(random)
      expect(list).toEqual([...list].sort((a, b) => a - b))
      expect(sum(list) / HOUR).toBeGreaterThan(21)
      expect(sum(list) / HOUR).toBeLessThan(27)
    }
    expect(afterAttempt(due(7), { status: 500 }, NOW, 0.5)).toMatchObject({ end: 'failed' })
  })

  it('spreads those who failed together by a fifth of the pause', () => {
    const [least, most] = [pauses(0)[1] ?? 0, pauses(1)[1] ?? 0]
    expect([least, most]).toEqual([270_000, 330_000])
  })

  it('waits for as long as the receiver asks, but not without end, and not shorter than it would', () => {
    const again = (retryAfterMs: number) => afterAttempt(due(), { status: 503, retryAfterMs }, NOW, 0.5).end
    expect([again(1), again(HOUR), again(1e12)]).toEqual(
      [NOW + 5000, NOW + HOUR, NOW + 12 * HOUR].map((againAtMs) => ({ againAtMs })),
    )
  })

  it('disables at five days of failure and three attempts of this delivery, not before', () => {
    const disable = (attempts: number, sinceMs: number) =>
      afterAttempt(due(attempts, NOW - sinceMs), { status: 500 }, NOW, 0.5).disable
    expect(disable(2, FIVE_DAYS)).toBe('nothing could be delivered for five days')
    expect([disable(2, FIVE_DAYS - 1), disable(1, FIVE_DAYS), disable(1, 10 * FIVE_DAYS)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('disables at once at 410, and never for a success', () => {
    expect(afterAttempt(due(), { status: 410 }, NOW, 0.5).disable).toBe('the receiver answered 410 Gone')
    expect(afterAttempt(due(7, NOW - 2 * FIVE_DAYS), { status: 204 }, NOW, 0.5)).toEqual({
      deliveryId: 'dlv_1',
      end: 'delivered',
      lastStatus: 204,
    })
  })

  it('says nothing of what a receiver answered that did not', () => {
    expect(
      afterAttempt(due(), { status: undefined, fault: new Error('ECONNREFUSED') }, NOW, 0.5),
    ).toMatchObject({ lastStatus: undefined })
  })
})
