import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { ReceiptCosts } from '../../src/feed/receipt-costs.ts'

const site = (i: number) => `s${i}.example` as SiteId
const shares = (...limits: readonly number[]) => limits.map((limit, i) => ({ siteId: site(i), limit }))
async function withReaders(...readers: readonly number[]): Promise<ReceiptCosts> {
  const costs = new ReceiptCosts()
  await costs.load(
    readers.map((_, i) => site(i)),
    async (siteId) => readers[Number(siteId[1])] ?? 0,
  )
  return costs
}

describe('the costs of receipts', () => {
  it('give each site an equal part of a round, and never less than one receipt', async () => {
    const costs = await withReaders(4000, 3, 90_000)
    const fit = (...limits: readonly number[]) => costs.fit(shares(...limits)).map(({ limit }) => limit)
    expect(fit(480)).toEqual([5])
    expect(fit(480, 50)).toEqual([2, 20])
    // The third site uses up the round, and comes last in the next one.
    expect(fit(480, 50, 50, 50)).toEqual([1, 10, 1])
    costs.record(site(0), 10)
    expect(fit(480, 50)).toEqual([20, 20])
  })

  it('are loaded once for each site', async () => {
    const costs = await withReaders(4000)
    const asked: SiteId[] = []
    await costs.load([site(0), site(1), site(1)], async (siteId) => asked.push(siteId))
    expect(asked).toEqual([site(1)])
  })

  it('split receipts into groups in order, large ones alone', async () => {
    const costs = await withReaders(4000, 3, 90_000)
    const groups = costs.toGroups([0, 0, 1, 1, 2, 1, 1], (i) => site(i))
    expect(groups).toEqual([[0], [0], [1, 1], [2], [1, 1]])
    const many = Array.from({ length: 10 }, () => 1)
    expect(costs.toGroups(many, (i) => site(i)).map(({ length }) => length)).toEqual([4, 4, 2])
    expect(costs.toGroups([], () => site(0))).toEqual([])
  })
})
