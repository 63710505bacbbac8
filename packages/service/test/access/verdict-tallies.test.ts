import { guardProblems, type SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { createVerdictTallies } from '../../src/access/verdict-tallies.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { VerdictTally } from '../../src/store/operations/verdict-tallies.ts'

const SITE = 'shop.example' as SiteId
const reporter = (verifierId?: string, instanceId?: string, keyId = 'key_1') => ({
  keyId,
  verifierId,
  instanceId,
})

function begin() {
  const written: VerdictTally[] = []
  const warned: unknown[] = []
  const state = { nowMs: 1_000_000 * 60_000 + 5, isDown: false }
  const tallies = createVerdictTallies({
    store: {
      async addTallies(rows) {
        if (state.isDown) throw new StoreUnavailable('down')
        written.push(...rows)
      },
    },
    nowMs: () => state.nowMs,
    log: { warn: (...args: unknown[]) => void warned.push(args) } as never,
    flushMs: 3_600_000,
  })
  return { tallies, written, warned, state }
}

describe('counts of decisions', () => {
  it('are written together, one row for each minute, verifier, presentation and outcome', async () => {
    const { tallies, written, state } = begin()
    for (let i = 0; i < 1000; i++) tallies.count(SITE, 'bearer', 'allowed')
    tallies.add(SITE, reporter('web'), [{ presented: 'jwt', outcome: 'made_up', count: 7 }])
    expect(written).toEqual([])
    await tallies.flush()
    const atMs = 1_000_000 * 60_000
    expect(written).toEqual([
      { siteId: SITE, atMs, verifierId: '(service)', presented: 'bearer', outcome: 'allowed', count: 1000 },
      { siteId: SITE, atMs, verifierId: 'web', presented: 'jwt', outcome: 'other', count: 7 },
    ])
    state.nowMs += 60_000
    tallies.count(SITE, 'bearer', 'allowed')
    await tallies.close()
    expect(written.at(-1)).toMatchObject({ atMs: atMs + 60_000, count: 1 })
  })

  it('survive a store that is down', async () => {
    const { tallies, written, warned, state } = begin()
    tallies.count(SITE, 'bearer', 'allowed')
    state.isDown = true
    await tallies.flush()
    tallies.count(SITE, 'bearer', 'allowed')
    await tallies.flush()
    expect([written, warned.length]).toEqual([[], 1])
    state.isDown = false
    await tallies.close()
    expect(written).toMatchObject([{ count: 2 }])
  })

  it('of a key that makes up names fill neither memory nor the store', async () => {
    const { tallies, written } = begin()
    for (let i = 0; i < 900; i++)
      tallies.add(SITE, reporter(`name-${i}`), [{ presented: 'jwt', outcome: `code_${i}`, count: 1 }])
    await tallies.close()
    expect(written).toHaveLength(65)
    expect(written.find(({ verifierId }) => verifierId === '(others)')?.count).toBe(900 - 64)
  })

  it('have few rows in a minute and in an hour, whatever a key reports; nothing is lost', async () => {
    const { tallies, written, state } = begin()
    const codes = Object.keys(guardProblems)
    const kinds = ['credential', 'bearer', 'jwt', 'none']
    let reported = 0
    for (let minute = 0; minute < 30; minute++) {
      for (let name = 0; name < 64; name++) {
        const counts = kinds.map((presented, i) => ({
          presented,
          outcome: codes[(minute + name + i) % codes.length] as string,
          count: 1,
        }))
        tallies.add(SITE, reporter(`name-${name}`), counts)
        reported += counts.length
      }
      state.nowMs += 60_000
    }
    // One that comes late is still known to have been allowed.
    tallies.add(SITE, reporter('late'), [{ presented: 'bearer', outcome: 'allowed', count: 5 }])
    await tallies.close()
    const toRow = ({ verifierId, presented, outcome }: VerdictTally) =>
      `${verifierId} ${presented} ${outcome}`
    const hours = Map.groupBy(written, ({ atMs }) => Math.floor(atMs / 3_600_000))
    for (const rows of hours.values()) expect(new Set(rows.map(toRow)).size).toBeLessThanOrEqual(200 + 8)
    const minutes = Map.groupBy(written, ({ atMs }) => atMs)
    for (const rows of minutes.values()) expect(rows.length).toBeLessThanOrEqual(200 + 8)
    expect(written.reduce((total, { count }) => total + count, 0)).toBe(reported + 5)
    const accepted = written.filter(({ outcome }) => outcome === 'allowed')
    expect(accepted).toMatchObject([{ verifierId: '(others)', presented: 'bearer', count: 5 }])
  })

  it('are reported at most twice in ten seconds by an instance, and by 1,000 instances of a key', async () => {
    const { tallies, written, state } = begin()
    const counts = [{ presented: 'jwt', outcome: 'allowed', count: 1 }]
    const isLimited = (...who: Parameters<typeof reporter>) => {
      try {
        tallies.add(SITE, reporter(...who), counts)
        return false
      } catch (error) {
        expect(error).toMatchObject({ code: 'rate_limited' })
        return true
      }
    }
    expect([isLimited('web', 'a'), isLimited('web', 'a'), isLimited('web', 'a')]).toEqual([
      false,
      false,
      true,
    ])
    // Processes may share a name, and keys may share both.
    expect([isLimited('web', 'b'), isLimited('web', 'a', 'key_2')]).toEqual([false, false])
    expect([isLimited('api'), isLimited('api'), isLimited('api')]).toEqual([false, false, true])
    const others = Array.from({ length: 1000 }, (_, i) => isLimited('web', `made-up-${i}`))
    expect(others.filter((each) => each)).toHaveLength(3)
    state.nowMs += 10_000
    expect(isLimited('web', 'a')).toBe(false)
    await tallies.close()
    // What was rejected is not counted: the guard sends it again.
    expect(written.reduce((total, { count }) => total + count, 0)).toBe(2 + 2 + 2 + 997 + 1)
  })
})
