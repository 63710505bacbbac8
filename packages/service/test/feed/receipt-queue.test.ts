import type { SiteId } from '@countersign/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ReceiptQueue } from '../../src/feed/receipt-queue.ts'
import type { SiteEntries } from '../../src/store/operations/receipts.ts'

const EPOCH = 'epoch000'
const site = (i: number) => `s${i}.example` as SiteId
const entries = (i: number, fromSeq: number, toSeq: number, fromPosition: number): SiteEntries => ({
  siteId: site(i),
  fromSeq,
  toSeq,
  fromPosition,
})

describe('the queue of receipts', () => {
  it('gives each site a part, and what one does not need to the others', () => {
    const queue = new ReceiptQueue({ epoch: EPOCH, position: 0 })
    queue.add([entries(1, 1, 1000, 1), entries(2, 5, 6, 400), entries(3, 1, 100, 500)], 1200)
    const shares = queue.next(50)
    expect(shares.map(({ siteId, limit }) => [siteId, limit])).toEqual([
      [site(1), 24],
      [site(2), 2],
      [site(3), 24],
    ])
  })

  it('gives sites their turns when there are more than a batch has entries', () => {
    const queue = new ReceiptQueue({ epoch: EPOCH, position: 0 })
    queue.add(
      Array.from({ length: 7 }, (_, i) => entries(i, 1, 9, i + 1)),
      99,
    )
    const served: string[] = []
    for (let i = 0; i < 7; i++)
      for (const share of queue.next(3)) {
        served.push(share.siteId)
        queue.finish(share, { seq: share.afterSeq + 1, position: 0 })
      }
    for (let i = 0; i < 7; i++) expect(served.filter((name) => name === site(i))).toHaveLength(3)
  })

  it('finishes every entry once, and its position is never beyond one that is not finished', () => {
    const log = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(
        log,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 60 }),
        (sites, max, scan) => {
          const seqs = new Map<number, number>()
          const all = sites.map((i, index) => {
            seqs.set(i, (seqs.get(i) ?? 0) + 1)
            return { siteId: site(i), seq: seqs.get(i) as number, position: index + 1 }
          })
          const queue = new ReceiptQueue({ epoch: EPOCH, position: 0 })
          const done = new Set<number>()
          for (let round = 0; done.size < all.length; round++) {
            expect(round).toBeLessThan(1000)
            const scanTo = Math.min(all.length, queue.scannedTo + scan)
            const part = all.slice(queue.scannedTo, scanTo)
            queue.add(
              [...Map.groupBy(part, ({ siteId }) => siteId)].map(([siteId, own]) => ({
                siteId,
                fromSeq: own[0]?.seq ?? 0,
                toSeq: own.at(-1)?.seq ?? 0,
                fromPosition: own[0]?.position ?? 0,
              })),
              scanTo,
            )
            const shares = queue.next(max)
            expect(shares.reduce((sum, { limit }) => sum + limit, 0)).toBeLessThanOrEqual(max)
            for (const share of shares) {
              const own = all.filter(
                ({ siteId, seq }) =>
                  siteId === share.siteId && seq > share.afterSeq && seq <= share.afterSeq + share.limit,
              )
              for (const { position } of own) {
                expect(done.has(position)).toBe(false)
                done.add(position)
              }
              queue.finish(share, own.at(-1))
            }
            for (let position = 1; position <= queue.donePosition; position++)
              expect(done.has(position)).toBe(true)
          }
          expect([queue.isEmpty, queue.donePosition]).toEqual([true, all.length])
        },
      ),
    )
  })
})
