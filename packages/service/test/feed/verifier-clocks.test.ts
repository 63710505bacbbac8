import type { SiteId } from '@countersign/core'
import { expect, it, vi } from 'vitest'
import { createVerifierClocks } from '../../src/feed/verifier-clocks.ts'
import { ClockDouble } from '../log/log-double.ts'

const instance = (instanceId: string) => ({ siteId: 'a.example' as SiteId, keyId: 'key_1', instanceId })

function setUp() {
  const clock = new ClockDouble()
  const log = { warn: vi.fn(), info: vi.fn() }
  const clocks = createVerifierClocks(clock, log)
  /** Each acknowledges once, with its clock so far ahead of the node's. */
  const acknowledge = (...aheadMs: number[]) => {
    clock.pass(1000)
    for (const [i, ms] of aheadMs.entries()) clocks.heard(instance(`i${i}`), ms)
    clock.pass(1000)
    clocks.heard(instance('i0'), aheadMs[0] ?? 0)
  }
  return { clock, log, clocks, acknowledge }
}

it('B8: reports that a node is ahead of its verifiers, or they behind it, with both times, once', () => {
  const { log, clocks, acknowledge } = setUp()
  acknowledge(-20_000, -20_050, -19_900)
  acknowledge(-20_000, -20_050, -19_900)
  expect(clocks.medianMs()).toBe(20_000)
  expect(clocks.differenceMs(instance('i1'))).toBe(20_050)
  expect(log.warn).toHaveBeenCalledTimes(1)
  const [facts, words] = log.warn.mock.calls[0] ?? []
  expect(words).toMatch(/clock of this node is ahead, or the clocks of the verifiers are behind/)
  expect(Date.parse(facts.node_time) - Date.parse(facts.verifier_time)).toBe(20_000)
})

it('names both possibilities the other way round, repeats itself every five minutes, and says when it is over', () => {
  const { log, clock, acknowledge } = setUp()
  acknowledge(30_000)
  expect(log.warn.mock.calls[0]?.[1]).toMatch(
    /clock of this node is behind, or the clocks of the verifiers are ahead/,
  )
  clock.pass(300_000)
  acknowledge(30_000)
  expect(log.warn).toHaveBeenCalledTimes(2)
  acknowledge(0)
  expect(log.info).toHaveBeenCalledTimes(1)
})

it('goes by most verifiers: one wrong clock among several, and differences up to 2 s, are no disagreement (control arm)', () => {
  const { log, clocks, acknowledge } = setUp()
  acknowledge(0, -3_600_000, 20)
  acknowledge(-2000, -2000, -2000)
  expect(clocks.medianMs()).toBe(2000)
  expect(log.warn).not.toHaveBeenCalled()
  acknowledge(-2001, -2001, -2001)
  expect(log.warn).toHaveBeenCalledTimes(1)
})

it('forgets verifiers that have not acknowledged for a minute, and keeps no more than 10,000', () => {
  const { clock, clocks } = setUp()
  expect([clocks.medianMs(), clocks.differenceMs(instance('x'))]).toEqual([0, undefined])
  clocks.heard(instance('x'), -9000)
  clock.pass(60_000)
  expect(clocks.medianMs()).toBe(9000)
  clock.pass(1)
  expect([clocks.medianMs(), clocks.differenceMs(instance('x'))]).toEqual([0, undefined])
  for (let i = 0; i < 10_001; i++) clocks.heard(instance(`n${i}`), -i)
  expect(clocks.medianMs()).toBe(5001)
})
