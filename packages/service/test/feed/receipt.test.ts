import type { SiteId } from '@countersign/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CommittedEntry, createReceipt, type SiteReaders, toReaders } from '../../src/feed/receipt.ts'
import type { FeedNodeRow, FeedStreamRow } from '../../src/store/operations/feed-streams.ts'
import type { LeaseRow } from '../../src/store/operations/leases.ts'

const EPOCH = 'epoch000'
const AT = 1_800_000_000_000
const SITE = 'a.example' as SiteId
let made = 0
const stream = (verifierId: string, seq: number, fields: Partial<FeedStreamRow> = {}): FeedStreamRow => ({
  streamId: `node.${++made}`,
  nodeId: 'node',
  siteId: SITE,
  keyId: 'key_1',
  verifierId,
  isNamed: true,
  connectedAtMs: AT,
  epoch: EPOCH,
  seq,
  acks: [],
  ...fields,
})
/** Connected, with a bound of 30 s, and heard of a moment ago. */
const lease = (instanceId: string, fields: Partial<LeaseRow> = {}): LeaseRow => ({
  siteId: SITE,
  keyId: 'key_1',
  instanceId,
  verifierId: 'web',
  isNamed: true,
  boundMs: 30_000,
  failsOpen: false,
  openedAtMs: AT - 100_000,
  declaredAtMs: AT - 100_000,
  nodeId: 'node',
  streamId: `node.${++made}`,
  nodeUntilMs: Infinity,
  connectedAtMs: AT - 100_000,
  servedAtMs: AT - 100_000,
  epoch: EPOCH,
  seq: 3,
  acks: [{ seq: 3, atMs: AT - 50_000 }],
  times: { applied: [], denied: [] },
  heardAtMs: AT - 1000,
  closedAtMs: undefined,
  version: '',
  lastNodeId: 'node',
  isRetired: false,
  ...fields,
})
const acked = (instanceId: string, atMs: number, fields: Partial<LeaseRow> = {}) =>
  lease(instanceId, { seq: 4, acks: [{ seq: 4, atMs }], heardAtMs: atMs, ...fields })
/** Without a stream since a moment. */
const away = (instanceId: string, servedAtMs: number, fields: Partial<LeaseRow> = {}) =>
  lease(instanceId, { nodeId: '', streamId: '', nodeUntilMs: 0, servedAtMs, ...fields })
const node = (
  marks: FeedNodeRow['view']['marks'],
  fields: Partial<FeedNodeRow['view']> = {},
): FeedNodeRow => ({
  nodeId: `node_${++made}`,
  expiresAtMs: AT + 10_000,
  view: { ageMsMax: 2000, epoch: EPOCH, marks, ...fields },
})
const ENTRY: CommittedEntry = {
  epoch: EPOCH,
  seq: 4,
  atMs: AT,
  position: 40,
  committedAtMs: AT,
  deniedHereAtMs: AT,
  headsDeadAtMs: AT + 60_000,
  headAgeMsMax: 60_000,
}
interface Given extends Partial<Omit<SiteReaders, 'streams'>> {
  readonly streams?: readonly FeedStreamRow[]
  readonly nowMs?: number
  readonly entry?: Partial<CommittedEntry>
}
const look = ({ streams = [], nowMs = AT + 500, entry, ...readers }: Given) =>
  createReceipt(
    {
      readAtMs: nowMs,
      nodes: [],
      leases: [],
      departed: [],
      headReadersUntilMs: 0,
      ...readers,
      streams: toReaders(streams, EPOCH),
    },
    { ...ENTRY, ...entry },
    nowMs,
  )
const receipt = (streams: readonly FeedStreamRow[], seq: number, nowMs = AT + 500) =>
  look({ streams, nowMs, entry: { seq } })
/** When it is denied everywhere, since the commit. */
const deniedAfter = (given: Given) => (look(given).deniedEverywhereAtMs ?? Number.NaN) - AT

describe('a receipt of readers without an instance', () => {
  it('of a site without readers says so', () => {
    expect(receipt([], 4)).toMatchObject({
      connected: 0,
      acknowledged: 0,
      expected: 0,
      elapsedMs: 0,
      pending: [],
      verifiers: [],
    })
  })

  it('counts those who have it and names those who have not, the furthest behind first', () => {
    expect(receipt([stream('a', 4), stream('b', 3), stream('c', 0)], 4)).toMatchObject({
      connected: 3,
      acknowledged: 1,
      awaited: 2,
      elapsedMs: 500,
      pending: [
        { verifierId: 'c', instanceId: undefined, seq: 0 },
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

  it('does not count the time of a reader that had it when it came', () => {
    expect(receipt([stream('a', 9)], 4)).toMatchObject({ acknowledged: 1, elapsedMs: 0 })
  })

  it('never says less than nothing, when clocks differ', () => {
    expect(receipt([stream('a', 4, { acks: [{ seq: 4, atMs: AT - 100 }] })], 4).elapsedMs).toBe(0)
  })

  it('counts a reader with two connections once, as far as the further one has come', () => {
    const twice = [
      stream('a', 2, { connectedAtMs: AT - 10 }),
      stream('a', 5, { acks: [{ seq: 5, atMs: AT + 30 }] }),
    ]
    expect(receipt(twice, 5)).toMatchObject({ connected: 1, acknowledged: 1, elapsedMs: 30, pending: [] })
    expect(toReaders(twice, EPOCH)).toMatchObject([
      { verifierId: 'a', connectedAtMs: AT - 10, seq: 5, acknowledgedAtMs: AT + 30 },
    ])
  })

  it('does not take one reader for another of the same name under another key', () => {
    expect(receipt([stream('a', 5), stream('a', 2, { keyId: 'key_2' })], 5)).toMatchObject({
      connected: 2,
      acknowledged: 1,
    })
  })

  it('counts what was acknowledged in another epoch as nothing', () => {
    expect(receipt([stream('a', 9, { epoch: 'epoch001', acks: [{ seq: 9, atMs: AT }] })], 4)).toMatchObject({
      connected: 1,
      acknowledged: 0,
      pending: [{ verifierId: 'a', seq: 0 }],
    })
  })

  it('states the bound for every guard: what they were given may live on elsewhere', () => {
    const streams = [stream('a', 4, { acks: [{ seq: 4, atMs: AT + 20 }] })]
    expect(deniedAfter({ streams, headReadersUntilMs: AT + 20_000 })).toBe(70_000)
    // Such a head is dead 60 s later, and clocks may differ by 10 s.
    expect(deniedAfter({ headReadersUntilMs: AT - 70_000 })).toBe(70_000)
    expect(deniedAfter({ headReadersUntilMs: AT - 70_001 })).toBe(0)
  })
})

describe('a receipt of readers without an instance that left', () => {
  const left = (verifierId: string, endedAtMs: number, fields: Partial<FeedStreamRow> = {}) => ({
    ...stream(verifierId, 3, { connectedAtMs: AT - 1000, ...fields }),
    endedAtMs,
  })
  const listed = (departed: readonly ReturnType<typeof left>[], streams: readonly FeedStreamRow[] = []) =>
    look({ departed, streams }).verifiers

  it('lists those that left after the entry, and may accept as long as any guard', () => {
    expect(listed([left('a', AT + 300)])).toMatchObject([
      { verifierId: 'a', instanceId: undefined, state: 'not_connected', rejectsFromMs: AT + 70_000 },
    ])
    expect(look({ departed: [left('a', AT + 300)] })).toMatchObject({ connected: 0, awaited: 0 })
    const acks = [{ seq: 4, atMs: AT + 20 }]
    expect(listed([left('a', AT + 300, { seq: 4, acks })])).toMatchObject([
      { state: 'acknowledged', acknowledgedAtMs: AT + 20 },
    ])
  })

  it('does not list those that left before it, came after it, or are back', () => {
    expect(listed([left('a', AT - 1)])).toEqual([])
    expect(listed([left('a', AT + 300, { connectedAtMs: AT + 200 })])).toEqual([])
    const back = [stream('a', 3)]
    expect(listed([left('a', AT + 300)], back)).toMatchObject([{ verifierId: 'a', state: 'waiting' }])
    // The reader of another key is not this one.
    expect(listed([left('a', AT + 300, { keyId: 'key_2' })], back)).toHaveLength(2)
  })

  it('lists one of several connections once, with what it had', () => {
    const own = [
      left('a', AT + 5),
      left('a', AT + 9, { seq: 4 }),
      left('a', AT + 9, { epoch: 'epoch001', seq: 9 }),
    ]
    expect(listed(own)).toMatchObject([{ state: 'acknowledged', seq: 4 }])
  })
})

describe('a receipt of instances that report times', () => {
  const time = (seq: number, ms: number) => ({ seq, atMs: AT + ms })
  const first = (leases: readonly LeaseRow[]) => look({ leases }).verifiers[0]

  it('states them for an entry that was acknowledged', () => {
    const times = { applied: [time(3, -50), time(4, 7), time(5, 9)], denied: [time(4, 12)] }
    expect(first([acked('one', AT + 250, { times })])).toMatchObject({
      acknowledgedAtMs: AT + 250,
      appliedAtMs: AT + 7,
      deniedAtMs: AT + 12,
    })
    expect(first([lease('one', { times })])).toMatchObject({
      state: 'waiting',
      appliedAtMs: undefined,
      deniedAtMs: undefined,
    })
  })

  it('states none when only later entries have one', () => {
    const times = { applied: [time(5, 900)], denied: [time(5, 901)] }
    expect(first([acked('one', AT + 250, { times })])).toMatchObject({
      appliedAtMs: undefined,
      deniedAtMs: undefined,
    })
  })

  it('states none before the entry, even for a clock that is at its beginning', () => {
    const times = { applied: [{ seq: 4, atMs: 0 }], denied: [{ seq: 4, atMs: 0 }] }
    expect(first([acked('one', AT + 250, { times })])).toMatchObject({ appliedAtMs: AT, deniedAtMs: AT })
    const late = { applied: [time(5, 900)], denied: [{ seq: 4, atMs: 0 }] }
    expect(first([acked('one', AT + 250, { times: late })])).toMatchObject({
      appliedAtMs: undefined,
      deniedAtMs: AT,
    })
  })

  it('says the same about who has applied an entry, whatever they report', () => {
    const anyTimes = fc.array(
      fc.record({ seq: fc.integer({ min: 1, max: 8 }), atMs: fc.integer({ min: 0, max: 2 * AT }) }),
      { maxLength: 32 },
    )
    fc.assert(
      fc.property(anyTimes, anyTimes, fc.boolean(), (applied, denied, isAcked) => {
        const make = (fields: Partial<LeaseRow>) =>
          look({ leases: [isAcked ? acked('one', AT + 250, fields) : lease('one', fields), lease('two')] })
        const strip = ({ verifiers, pending, ...rest }: ReturnType<typeof look>) => ({
          ...rest,
          states: [...verifiers, ...pending].map(({ appliedAtMs: _, deniedAtMs: __, ...each }) => each),
        })
        const found = make({ times: { applied, denied } })
        expect({ ...strip(found), streamId: 0 }).toEqual({ ...strip(make({})), streamId: 0 })
        for (const { appliedAtMs, deniedAtMs, acknowledgedAtMs } of found.verifiers) {
          if (appliedAtMs !== undefined)
            expect(appliedAtMs >= AT && appliedAtMs <= (acknowledgedAtMs ?? 0)).toBe(true)
          if (deniedAtMs !== undefined) expect(deniedAtMs).toBeGreaterThanOrEqual(appliedAtMs ?? AT)
        }
      }),
    )
  })
})

describe('a receipt of instances', () => {
  it('counts two processes of one name as two (B4)', () => {
    const leases = [acked('one', AT + 20), lease('two')]
    expect(look({ leases })).toMatchObject({
      connected: 2,
      acknowledged: 1,
      expected: 2,
      pending: [{ verifierId: 'web', instanceId: 'two' }],
    })
  })

  it('is over when all have acknowledged, and states the last acknowledgement', () => {
    const leases = [acked('one', AT + 20), acked('two', AT + 35), acked('three', AT + 3)]
    expect(look({ leases })).toMatchObject({ acknowledged: 3, awaited: 0, elapsedMs: 35, exceptions: [] })
    expect(deniedAfter({ leases })).toBe(35)
  })

  it('counts one that has not acknowledged with its own bound and 10 s for clocks', () => {
    expect(deniedAfter({ leases: [acked('one', AT + 20), lease('two')] })).toBe(40_000)
    expect(deniedAfter({ leases: [lease('one', { boundMs: 5000 }), lease('two', { boundMs: 9000 })] })).toBe(
      19_000,
    )
    // No head of the site lives longer than the site allows.
    expect(deniedAfter({ leases: [lease('one', { boundMs: 3_600_000 })] })).toBe(70_000)
  })

  it('is not delayed by an acknowledgement that comes after that', () => {
    expect(
      deniedAfter({ leases: [acked('one', AT + 300_000, { boundMs: 5000 })], nowMs: AT + 400_000 }),
    ).toBe(15_000)
  })

  it('calls one silent that has not said anything for 15 s, waits for it no longer, and says when it rejects (B11)', () => {
    const at = (quietMs: number) => look({ leases: [lease('one', { heardAtMs: AT + 500 - quietMs })] })
    expect(at(15_000)).toMatchObject({
      awaited: 1,
      verifiers: [{ state: 'waiting', rejectsFromMs: AT + 40_000 }],
    })
    expect(at(15_001)).toMatchObject({
      connected: 1,
      acknowledged: 0,
      awaited: 0,
      expected: 1,
      pending: [{ instanceId: 'one' }],
      verifiers: [{ state: 'silent', rejectsFromMs: AT + 40_000 }],
    })
    // One that has just connected has had no time to say anything.
    expect(look({ leases: [lease('one', { heardAtMs: 0, connectedAtMs: AT - 1000 })] })).toMatchObject({
      awaited: 1,
    })
  })

  it('shows one without a stream, which may accept for its bound after it had one', () => {
    expect(look({ leases: [away('one', AT - 20_000)] })).toMatchObject({
      connected: 0,
      awaited: 0,
      expected: 1,
      pending: [],
      verifiers: [{ state: 'not_connected', rejectsFromMs: AT + 20_000 }],
    })
    expect(deniedAfter({ leases: [away('one', AT - 20_000)] })).toBe(40_000)
  })

  it('is not delayed by one whose lease ended before the commit', () => {
    expect(deniedAfter({ leases: [away('one', AT - 40_000)] })).toBe(0)
    expect(deniedAfter({ leases: [away('one', AT - 39_999)] })).toBe(40_000)
    expect(deniedAfter({ leases: [away('one', AT - 69_999, { boundMs: 3_600_000 })] })).toBe(70_000)
    expect(deniedAfter({ leases: [away('one', AT - 70_000, { boundMs: 3_600_000 })] })).toBe(0)
  })

  it('remembers that a holder of then may have accepted, after its lease has ended', () => {
    expect(deniedAfter({ leases: [away('one', AT - 20_000)], nowMs: AT + 3_600_000 })).toBe(40_000)
    // After a day the rows may be gone, and the bound for every guard is stated.
    expect(deniedAfter({ leases: [], nowMs: AT + 82_800_000 })).toBe(0)
    expect(deniedAfter({ leases: [], nowMs: AT + 82_800_001 })).toBe(70_000)
  })

  it('expects a named one for a day after it vanished, others only while they may accept', () => {
    const hourAgo = AT - 3_600_000
    expect(look({ leases: [away('one', hourAgo), away('two', hourAgo, { isNamed: false })] })).toMatchObject({
      expected: 1,
      verifiers: [{ instanceId: 'one', state: 'not_connected', rejectsFromMs: hourAgo + 40_000 }],
    })
    expect(look({ leases: [away('one', AT - 86_399_000)] }).expected).toBe(1)
    expect(look({ leases: [away('one', AT - 86_400_000)] }).expected).toBe(0)
  })

  it('counts one that closed from then on as denying', () => {
    const closed = away('one', AT + 100, { closedAtMs: AT + 100 })
    expect(look({ leases: [closed] })).toMatchObject({ connected: 0, expected: 0, verifiers: [] })
    expect(deniedAfter({ leases: [closed] })).toBe(100)
    expect(deniedAfter({ leases: [away('one', AT - 5, { closedAtMs: AT - 5 })] })).toBe(0)
  })

  it('does not believe that one has closed while it has a stream', () => {
    const closed = { closedAtMs: AT - 5 }
    expect(look({ leases: [lease('one', closed)] })).toMatchObject({ connected: 1, expected: 1, awaited: 1 })
    expect(deniedAfter({ leases: [lease('one', closed)] })).toBe(40_000)
    // It was given heads until its stream ended, whatever was said before that.
    expect(deniedAfter({ leases: [away('one', AT + 300, closed)] })).toBe(300)
  })

  it('states the bound for every guard beside it, whatever was acknowledged or declared', () => {
    for (const leases of [[acked('one', AT + 20)], [lease('one', { failsOpen: true })], []])
      expect(look({ leases }).deniedAtLatestMs).toBe(AT + 70_000)
  })

  it('counts one that failed open until it closed or had the entry, however long that took', () => {
    const closed = { failsOpen: true, closedAtMs: AT + 600_000 }
    expect(deniedAfter({ leases: [away('open', AT + 5, closed)], nowMs: AT + 700_000 })).toBe(600_000)
    const knew = { ...closed, seq: 4, acks: [{ seq: 4, atMs: AT + 30 }] }
    expect(deniedAfter({ leases: [away('open', AT + 5, knew)], nowMs: AT + 700_000 })).toBe(30)
    expect(
      deniedAfter({ leases: [away('shut', AT + 5, { closedAtMs: AT + 600_000 })], nowMs: AT + 700_000 }),
    ).toBe(40_000)
  })

  it('has no instant when one fails open, acknowledged or not, and lists it (I-22)', () => {
    for (const open of [lease('open', { failsOpen: true }), acked('open', AT + 5, { failsOpen: true })])
      expect(look({ leases: [acked('one', AT + 20), open] })).toMatchObject({
        deniedEverywhereAtMs: undefined,
        exceptions: [{ instanceId: 'open' }],
      })
    // It goes on accepting without a stream, too, and its bound means nothing.
    expect(
      look({ leases: [away('open', AT - 3_600_000, { failsOpen: true, isNamed: false })] }),
    ).toMatchObject({
      deniedEverywhereAtMs: undefined,
      expected: 1,
      verifiers: [{ rejectsFromMs: undefined }],
    })
    expect(look({ leases: [away('open', AT - 10, { failsOpen: true, closedAtMs: AT - 10 })] })).toMatchObject(
      { exceptions: [] },
    )
  })

  it('takes the streams of a node that vanished for served until it no longer counted as there', () => {
    const lost = lease('one', { nodeUntilMs: AT - 30_000 })
    expect(look({ leases: [lost] })).toMatchObject({
      connected: 0,
      expected: 1,
      verifiers: [{ state: 'not_connected' }],
    })
    expect(deniedAfter({ leases: [lost] })).toBe(40_000)
    expect(deniedAfter({ leases: [lease('one', { nodeUntilMs: AT - 40_000 })] })).toBe(0)
  })

  it('counts nothing that was acknowledged in another epoch (A261)', () => {
    expect(look({ leases: [acked('one', AT + 5, { epoch: 'epoch001' })] })).toMatchObject({
      acknowledged: 0,
      pending: [{ seq: 0 }],
    })
    expect(deniedAfter({ leases: [acked('one', AT + 5, { epoch: 'epoch001' })] })).toBe(40_000)
  })

  it('does not count one that came after the entry was applied: it was never given a head without it', () => {
    const late = lease('late', { openedAtMs: AT + 1, seq: 0, acks: [] })
    expect(look({ leases: [late] })).toMatchObject({ connected: 1, awaited: 1 })
    expect(deniedAfter({ leases: [late] })).toBe(0)
    expect(deniedAfter({ leases: [{ ...late, openedAtMs: AT }] })).toBe(40_000)
  })
})

describe('a receipt among several nodes', () => {
  const leases = [acked('one', AT + 20)]

  it('states an early instant when all of them have applied the entry', () => {
    expect(deniedAfter({ leases, nodes: [node([{ position: 40, atMs: AT + 90 }])] })).toBe(90)
    expect(
      deniedAfter({
        leases,
        nodes: [
          node([
            { position: 39, atMs: AT - 9 },
            { position: 55, atMs: AT + 70 },
          ]),
        ],
      }),
    ).toBe(70)
  })

  it('states none before: a node that is behind may give an old head to a guard that is not known', () => {
    const behind = node([{ position: 39, atMs: AT + 100 }])
    expect(deniedAfter({ leases, nodes: [behind] })).toBe(70_000)
    expect(deniedAfter({ leases, nodes: [behind], nowMs: AT + 1999 })).toBe(70_000)
    // From then on its view is too old to decide or to prove anything.
    expect(deniedAfter({ leases, nodes: [behind], nowMs: AT + 2000 })).toBe(2000)
    expect(
      deniedAfter({ leases, nodes: [node([{ position: 40, atMs: AT + 1 }], { epoch: 'epoch001' })] }),
    ).toBe(70_000)
  })

  it('counts the node that answers', () => {
    const late = (deniedHereAtMs: number, nowMs?: number) =>
      deniedAfter({ leases, entry: { deniedHereAtMs }, ...(nowMs === undefined ? {} : { nowMs }) })
    expect([late(AT + 100), late(AT + 501), late(AT + 501, AT + 501)]).toEqual([100, 70_000, 501])
    // Applied within this millisecond, and rounded up.
    expect(late(AT + 501, AT + 500.2)).toBe(501)
  })

  it('takes the view of a node for too old only if the leases were read after that', () => {
    const behind = [node([{ position: 39, atMs: AT + 100 }])]
    expect(deniedAfter({ leases, nodes: behind, nowMs: AT + 2050, readAtMs: AT + 1999 })).toBe(70_000)
    expect(deniedAfter({ leases, nodes: behind, nowMs: AT + 2050, readAtMs: AT + 2000 })).toBe(2000)
  })

  it('allows for their clocks when an instance comes', () => {
    const nodes = [node([{ position: 40, atMs: AT + 90 }])]
    const late = (afterMs: number) => [lease('late', { openedAtMs: AT + 90 + afterMs, seq: 0, acks: [] })]
    expect(deniedAfter({ nodes, leases: late(10_000), nowMs: AT + 20_000 })).toBe(40_000)
    expect(deniedAfter({ nodes, leases: late(10_001), nowMs: AT + 20_000 })).toBe(90)
  })
})
