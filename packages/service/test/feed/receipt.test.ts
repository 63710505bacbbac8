import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { receiptOf, verifiersOf } from '../../src/feed/receipt.ts'
import type { FeedStreamRow } from '../../src/store/store.ts'

const EPOCH = 'epoch000'
const AT = 1_800_000_000_000
let made = 0
const stream = (verifierId: string, seq: number, fields: Partial<FeedStreamRow> = {}): FeedStreamRow => ({
  streamId: `node.${++made}`,
  nodeId: 'node',
  siteId: 'a.example' as SiteId,
  keyId: 'key_1',
  verifierId,
  isNamed: true,
  connectedAtMs: AT,
  epoch: EPOCH,
  seq,
  acks: [],
  ...fields,
})
const receipt = (streams: readonly FeedStreamRow[], seq: number, nowMs = AT + 500) =>
  receiptOf(verifiersOf(streams, EPOCH), { epoch: EPOCH, seq, atMs: AT }, nowMs)

describe('a receipt', () => {
  it('of nobody says so', () => {
    expect(receipt([], 4)).toEqual({ connected: 0, acknowledged: 0, elapsedMs: 0, laggards: [] })
  })

  it('counts those who have it and names those who have not, the furthest behind first', () => {
    expect(receipt([stream('a', 4), stream('b', 3), stream('c', 0)], 4)).toEqual({
      connected: 3,
      acknowledged: 1,
      elapsedMs: 500,
      laggards: [
        { verifierId: 'c', seq: 0 },
        { verifierId: 'b', seq: 3 },
      ],
    })
  })

  it('says how long the last of them took to have this very entry, whatever they said later', () => {
    const acks = [
      { seq: 3, atMs: AT - 5 },
      { seq: 4, atMs: AT + 20 },
      { seq: 9, atMs: AT + 400 },
    ]
    const early = stream('b', 6, { acks: [{ seq: 6, atMs: AT + 7 }] })
    expect(receipt([stream('a', 9, { acks }), early], 4).elapsedMs).toBe(20)
    expect(receipt([stream('a', 9, { acks }), early], 6).elapsedMs).toBe(400)
  })

  it('does not count the time of somebody who had it when it came', () => {
    expect(receipt([stream('a', 9)], 4)).toMatchObject({ acknowledged: 1, elapsedMs: 0 })
  })

  it('never says less than nothing, when clocks differ', () => {
    expect(receipt([stream('a', 4, { acks: [{ seq: 4, atMs: AT - 100 }] })], 4).elapsedMs).toBe(0)
  })

  it('counts a verifier with two connections once, as far as the further one has come', () => {
    const twice = [stream('a', 2, { connectedAtMs: AT - 10 }), stream('a', 5, { acks: [{ seq: 5, atMs: AT + 30 }] })]
    expect(receipt(twice, 5)).toEqual({ connected: 1, acknowledged: 1, elapsedMs: 30, laggards: [] })
    expect(verifiersOf(twice, EPOCH)).toMatchObject([{ verifierId: 'a', connectedAtMs: AT - 10, seq: 5, acknowledgedAtMs: AT + 30 }])
  })

  it('does not take one verifier for another of the same name under another key', () => {
    expect(receipt([stream('a', 5), stream('a', 2, { keyId: 'key_2' })], 5)).toMatchObject({ connected: 2, acknowledged: 1 })
  })

  it('counts what was applied of another epoch as nothing', () => {
    expect(receipt([stream('a', 9, { epoch: 'epoch001', acks: [{ seq: 9, atMs: AT }] })], 4)).toMatchObject({
      connected: 1,
      acknowledged: 0,
      laggards: [{ verifierId: 'a', seq: 0 }],
    })
  })
})
