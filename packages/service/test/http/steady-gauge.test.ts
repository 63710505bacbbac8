import { describe, expect, test } from 'vitest'
import { createSteadyGauge } from '../../src/http/steady-gauge.ts'

describe('a steady gauge', () => {
  test('does not take a single pause for load, however long it was', () => {
    const gauge = createSteadyGauge()
    const seen = [5, 3000, 5, 5].map((delayMs) => {
      gauge.add(delayMs)
      return gauge.value()
    })
    expect(seen).toEqual([0, 5, 5, 5])
  })
  test('tells of load that stays, from the second measurement on until it ends', () => {
    const gauge = createSteadyGauge()
    const seen = [5, 1200, 1500, 1300, 5].map((delayMs) => {
      gauge.add(delayMs)
      return gauge.value()
    })
    expect(seen).toEqual([0, 5, 1200, 1300, 5])
  })
})
