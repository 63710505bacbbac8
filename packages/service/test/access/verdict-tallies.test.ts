import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { createVerdictTallies } from '../../src/access/verdict-tallies.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { VerdictTally } from '../../src/store/operations/verdict-tallies.ts'

const SITE = 'shop.example' as SiteId

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
    tallies.add(SITE, 'web', [{ presented: 'jwt', outcome: 'made_up', count: 7 }])
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
    for (let i = 0; i < 5000; i++)
      tallies.add(SITE, `name-${i}`, [{ presented: 'jwt', outcome: `code_${i}`, count: 1 }])
    await tallies.close()
    expect(written).toHaveLength(65)
    expect(written.find(({ verifierId }) => verifierId === '(others)')?.count).toBe(5000 - 64)
  })
})
