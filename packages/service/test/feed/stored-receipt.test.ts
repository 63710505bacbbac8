import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { createReaderChanges } from '../../src/feed/reader-changes.ts'
import type { Receipt, VerifierReport } from '../../src/feed/receipt.ts'
import {
  createStoredReceipt as create,
  findDue,
  isChanged,
  updateStoredReceipt as update,
} from '../../src/feed/stored-receipt.ts'
import type { ConnectedVerifiers } from '../../src/feed/verifier-registry.ts'

const SITE = 'a.example' as SiteId
const AT = Date.UTC(2026, 10, 16, 12)
const COMMITTED = AT + 10
const DAY = 86_400_000
const ENTRY = {
  siteId: SITE,
  epoch: 'epoch000',
  seq: 7,
  kind: 'user.revoked' as const,
  hash: 'a'.repeat(64),
  atMs: AT,
  drillId: null,
}
const report = (instanceId: string, fields: Partial<VerifierReport> = {}): VerifierReport => ({
  verifierId: 'web',
  instanceId,
  nodeId: 'node_1',
  openedAtMs: AT - 1000,
  sinceMs: AT - 1000,
  state: 'waiting',
  seq: 6,
  acknowledgedAtMs: undefined,
  appliedAtMs: undefined,
  deniedAtMs: undefined,
  rejectsFromMs: AT + 30_000,
  ...fields,
})
const acked = (instanceId: string, afterMs: number) =>
  report(instanceId, {
    state: 'acknowledged',
    seq: 7,
    acknowledgedAtMs: AT + afterMs,
    rejectsFromMs: undefined,
  })
const live = (verifiers: readonly VerifierReport[], fields: Partial<Receipt> = {}): Receipt => ({
  readers: verifiers.length,
  connected: verifiers.length,
  acknowledged: 0,
  awaited: 0,
  expected: verifiers.length,
  elapsedMs: 0,
  committedAtMs: COMMITTED,
  deniedEverywhereAtMs: AT + 70_000,
  deniedAtLatestMs: AT + 70_000,
  pending: [],
  verifiers,
  exceptions: [],
  closed: [],
  ...fields,
})
const createStoredReceipt = (...args: Parameters<typeof create>) => create(...args).receipt
const updateStoredReceipt = (...args: Parameters<typeof update>) => update(...args).receipt
const NOW = { nowMs: AT + 1000, appliedMsMax: 0 }

describe('a stored receipt', () => {
  it('leaves out an instance that came when every node had the entry', () => {
    const later = report('later', { openedAtMs: COMMITTED + 1 })
    const all = live([report('early', { openedAtMs: COMMITTED }), later])
    const listed = (appliedMsMax: number) =>
      createStoredReceipt(ENTRY, all, { ...NOW, appliedMsMax }).verifiers.map((each) => each.instance_id)
    expect(listed(0)).toEqual(['early'])
    expect(listed(1)).toEqual(['early', 'later'])
  })

  it('has the instances that closed before it was written, acknowledged or gone', () => {
    const closed = [acked('done', 30), report('left', { state: 'not_connected' })]
    const first = createStoredReceipt(ENTRY, live([acked('one', 41)], { closed }), NOW)
    expect(first).toMatchObject({ state: 'complete', expected: 3, acknowledged: 2, gone: 1 })
    expect(first.verifiers.map((each) => [each.instance_id, each.state])).toEqual([
      ['left', 'gone'],
      ['one', 'acknowledged'],
      ['done', 'acknowledged'],
    ])
  })

  it('keeps what was acknowledged when the verifier is gone later, and counts those that left', () => {
    const first = createStoredReceipt(ENTRY, live([report('late'), report('left'), acked('one', 41)]), NOW)
    expect(first).toMatchObject({ state: 'waiting', expected: 3, acknowledged: 1, elapsed_ms: null })
    const next = updateStoredReceipt(first, live([acked('late', 5000), acked('new', 1)]), AT + 9000)
    expect(next).toMatchObject({
      state: 'complete',
      final: true,
      expected: 3,
      acknowledged: 2,
      gone: 1,
      elapsed_ms: 5000,
    })
    expect(next.verifiers.map((each) => [each.instance_id, each.state, each.after_ms])).toEqual([
      ['left', 'gone', null],
      ['late', 'acknowledged', 5000],
      ['one', 'acknowledged', 41],
    ])
  })

  it('gives the time of each acknowledgement once, and counts instances without a name together', () => {
    const unnamed = { ...acked('x1', 9), verifierId: 'x1' }
    const first = create(ENTRY, live([report('late'), acked('one', 41), unnamed]), NOW)
    expect(first.times).toEqual([
      { verifierId: 'web', measure: 'acknowledged', ms: 41 },
      { verifierId: '', measure: 'acknowledged', ms: 9 },
    ])
    const next = update(first.receipt, live([acked('late', 5000), acked('one', 41)]), AT + 9000)
    expect(next.times).toEqual([{ verifierId: 'web', measure: 'acknowledged', ms: 5000 }])
    expect(update(next.receipt, live([acked('late', 5000)]), AT + 9000).times).toEqual([])
  })

  it('states what verifiers report about themselves, and counts that instead of acknowledgements', () => {
    const one = { ...acked('one', 250), appliedAtMs: AT + 7 }
    const first = create(ENTRY, live([one, acked('two', 41), report('late')]), NOW)
    expect(first.times).toEqual([
      { verifierId: 'web', measure: 'applied', ms: 7 },
      { verifierId: 'web', measure: 'acknowledged', ms: 41 },
    ])
    const by = ({ verifiers }: typeof first.receipt, id: string) =>
      verifiers.find(({ instance_id }) => instance_id === id)
    expect(by(first.receipt, 'one')).toMatchObject({ after_ms: 250, applied_ms: 7, first_denied_ms: null })
    expect(by(first.receipt, 'two')).toMatchObject({ after_ms: 41, applied_ms: null })
    // The first denial may come later. What was stated before stays.
    const denied = { ...one, appliedAtMs: AT + 1, deniedAtMs: AT + 900 }
    const next = update(first.receipt, live([denied, report('late')]), AT + 2000)
    expect(by(next.receipt, 'one')).toMatchObject({ applied_ms: 7, first_denied_ms: 900 })
    const last = update(next.receipt, live([{ ...one, deniedAtMs: AT + 5 }, acked('late', 3000)]), AT + 3000)
    expect(by(last.receipt, 'one')).toMatchObject({ applied_ms: 7, first_denied_ms: 900 })
    expect(last.receipt).toMatchObject({ state: 'complete', elapsed_ms: 3000 })
  })

  it('lists 100 verifiers, the late ones first, and still counts all of them', () => {
    const many = Array.from({ length: 150 }, (_, i) => acked(`v${i}`, i))
    const first = createStoredReceipt(ENTRY, live([report('late'), ...many]), NOW)
    expect([first.verifiers.length, first.expected, first.acknowledged]).toEqual([100, 151, 150])
    expect(first.verifiers.slice(0, 2)).toMatchObject([{ instance_id: 'late' }, { after_ms: 149 }])
    const next = updateStoredReceipt(first, live([acked('late', 9000)]), AT + 9500)
    expect(next).toMatchObject({ state: 'complete', expected: 151, acknowledged: 151, elapsed_ms: 9000 })
  })

  it('waits for a reader without a lease that left, until no guard can accept any longer', () => {
    const reader = { ...report('x'), verifierId: 'reader', instanceId: undefined, openedAtMs: undefined }
    const first = createStoredReceipt(ENTRY, live([reader, acked('one', 41)]), NOW)
    const next = updateStoredReceipt(first, live([]), AT + 69_999)
    expect(next).toMatchObject({ state: 'waiting', final: false, expected: 2, acknowledged: 1, gone: 0 })
    expect(next.verifiers[0]).toMatchObject({ verifier_id: 'reader', state: 'not_connected', node_id: null })
    expect(isChanged(first, next)).toBe(true)
    // It may come back and acknowledge.
    const back = { ...reader, state: 'acknowledged' as const, acknowledgedAtMs: AT + 9000 }
    expect(updateStoredReceipt(next, live([back]), AT + 9500)).toMatchObject({
      state: 'complete',
      acknowledged: 2,
      gone: 0,
    })
    expect(updateStoredReceipt(next, live([]), AT + 70_000)).toMatchObject({
      state: 'complete',
      acknowledged: 1,
      gone: 1,
    })
    const drill = updateStoredReceipt({ ...next, drill_id: 'drill_1' }, live([]), AT + 120_000)
    expect(drill).toMatchObject({ state: 'waiting', acknowledged: 1, gone: 0 })
  })

  it('has a reader without a lease that left before it was written, until no guard can accept', () => {
    const left = {
      ...report('x', { state: 'not_connected', nodeId: undefined, rejectsFromMs: AT + 70_000 }),
      verifierId: 'reader',
      instanceId: undefined,
      openedAtMs: undefined,
    }
    const first = createStoredReceipt(ENTRY, live([left, acked('one', 41)]), NOW)
    expect(first).toMatchObject({ state: 'waiting', expected: 2, acknowledged: 1, gone: 0 })
    const next = updateStoredReceipt(first, live([left, acked('one', 41)]), AT + 69_999)
    expect(next).toMatchObject({ state: 'waiting', gone: 0 })
    expect(updateStoredReceipt(next, live([left]), AT + 70_000)).toMatchObject({ state: 'complete', gone: 1 })
    const late = createStoredReceipt(ENTRY, live([left]), { ...NOW, nowMs: AT + 70_000 })
    expect(late).toMatchObject({ state: 'complete', expected: 1, gone: 1 })
    const drill = createStoredReceipt({ ...ENTRY, drillId: 'drill_1' }, live([left]), {
      ...NOW,
      nowMs: AT + 99_000,
    })
    expect(drill).toMatchObject({ state: 'waiting', gone: 0 })
  })

  it('does not take the reader of another key for one of the same name that left', () => {
    const reader = { ...report('x'), instanceId: undefined, openedAtMs: undefined }
    const other = { ...acked('x', 41), instanceId: undefined, openedAtMs: undefined }
    const first = createStoredReceipt(ENTRY, live([reader, other]), NOW)
    const next = updateStoredReceipt(first, live([other]), AT + 9000)
    expect(next).toMatchObject({ state: 'waiting', acknowledged: 1, gone: 0 })
    expect(next.verifiers.map(({ state }) => state)).toEqual(['not_connected', 'acknowledged'])
  })

  it('keeps the number of verifiers when too many were late to be listed', () => {
    const late = Array.from({ length: 120 }, (_, i) => report(`v${i}`))
    const done = Array.from({ length: 120 }, (_, i) => acked(`v${i}`, 2000 + i))
    const first = createStoredReceipt(ENTRY, live([...late, acked('one', 41)]), NOW)
    expect([first.verifiers.length, first.expected, first.acknowledged]).toEqual([100, 121, 1])
    // None is known any longer: those without a name in the list may be readers without a lease.
    const none = updateStoredReceipt(first, live([]), AT + 9500)
    expect(none).toMatchObject({ state: 'waiting', expected: 121, acknowledged: 1, gone: 100 })
    expect(updateStoredReceipt(none, live([]), AT + 69_999)).toMatchObject({ state: 'waiting', gone: 100 })
    const over = updateStoredReceipt(none, live([]), AT + 70_000)
    expect(over).toMatchObject({ state: 'complete', expected: 121, acknowledged: 1, gone: 120 })
    // Those that came later do not take their place.
    const others = Array.from({ length: 50 }, (_, i) => ({ ...acked(`n${i}`, 1), sinceMs: COMMITTED + 1 }))
    const replaced = updateStoredReceipt(first, live([...others, ...done.slice(0, 100)]), AT + 9500)
    expect(replaced).toMatchObject({ state: 'waiting', expected: 121, acknowledged: 101, gone: 0 })
    // One that is still late is named.
    const some = updateStoredReceipt(
      first,
      live([report('v119'), ...done.slice(0, 119), acked('one', 41)]),
      AT + 9500,
    )
    expect(some).toMatchObject({ state: 'waiting', expected: 121, acknowledged: 120, gone: 0 })
    expect(some.verifiers[0]).toMatchObject({ instance_id: 'v119', state: 'waiting' })
    expect(updateStoredReceipt(some, live(done), AT + 9900)).toMatchObject({
      state: 'complete',
      expected: 121,
      acknowledged: 121,
      elapsed_ms: 2119,
    })
  })

  it('that counts some as gone when denied_at_latest has passed still waits for one that fails open', () => {
    const late = Array.from({ length: 120 }, (_, i) => report(`v${i}`))
    const first = createStoredReceipt(ENTRY, live(late), NOW)
    const open = report('v119', { sinceMs: COMMITTED + 1, rejectsFromMs: undefined })
    const next = updateStoredReceipt(first, live([open], { exceptions: [open] }), AT + 70_000)
    expect(next).toMatchObject({ state: 'waiting', expected: 120, acknowledged: 0, gone: 100 })
  })

  it('does not count those that are gone and not listed as acknowledged', () => {
    const late = Array.from({ length: 60 }, (_, i) => report(`v${i}`))
    const left = Array.from({ length: 60 }, (_, i) => report(`w${i}`))
    const first = createStoredReceipt(ENTRY, live([...late, ...left]), NOW)
    const next = updateStoredReceipt(first, live([...late, ...left.slice(40)]), AT + 9000)
    expect(next).toMatchObject({ expected: 120, acknowledged: 0, gone: 40 })
    const last = updateStoredReceipt(next, live(late), AT + 70_000)
    expect(last).toMatchObject({ state: 'waiting', expected: 120, acknowledged: 0, gone: 60 })
    expect(updateStoredReceipt(last, live(late), AT + 71_000)).toMatchObject({ acknowledged: 0, gone: 60 })
  })

  it('states the earlier instant, and none while a verifier fails open', () => {
    const open = report('open', { rejectsFromMs: undefined })
    const first = createStoredReceipt(
      ENTRY,
      live([open], { exceptions: [open], deniedEverywhereAtMs: undefined }),
      NOW,
    )
    expect(first.denied_everywhere_at).toBeNull()
    expect(first.verifiers).toMatchObject([{ fails_open: true }])
    const next = updateStoredReceipt(first, live([], { deniedEverywhereAtMs: AT + 5000 }), AT + 9500)
    expect(next.denied_everywhere_at).toBe('2026-11-16T12:00:05Z')
    const later = updateStoredReceipt(next, live([], { deniedEverywhereAtMs: AT + 9000 }), AT + 9900)
    expect(later.denied_everywhere_at).toBe('2026-11-16T12:00:05Z')
  })

  it('is due at certain ages, and final after a day or when it is complete', () => {
    const first = createStoredReceipt(ENTRY, live([report('late')]), NOW)
    const dueAfter = (ageMs: number) => (findDue(first, COMMITTED + ageMs) ?? 0) - COMMITTED
    expect(dueAfter(0)).toBe(30_000)
    expect(dueAfter(29_999)).toBe(30_000)
    expect(dueAfter(30_000)).toBe(120_000)
    expect(dueAfter(7 * 3_600_000)).toBe(DAY)
    const last = updateStoredReceipt(first, live([report('late')]), COMMITTED + DAY)
    expect([last.state, last.final, findDue(last, COMMITTED + DAY)]).toEqual(['waiting', true, undefined])
    expect(isChanged(first, last)).toBe(true)
    expect(isChanged(first, updateStoredReceipt(first, live([report('late')]), AT + 9000))).toBe(false)
  })
})

describe('changes of readers', () => {
  const found = (...readers: (readonly [name: string, seq: number, openedAtMs?: number])[]) =>
    ({
      leases: readers.map(([instanceId, seq, openedAtMs = 0]) => ({
        keyId: 'k',
        instanceId,
        seq,
        openedAtMs,
      })),
      streams: [],
    }) as unknown as ConnectedVerifiers

  it('are all entries at first, then those that were acknowledged in between', () => {
    const changes = createReaderChanges()
    const look = (readers: ConnectedVerifiers, seconds: number) =>
      changes.find(SITE, readers, 100, seconds * 1000)
    expect(look(found(['one', 5], ['two', 9]), 100)).toEqual({ afterSeq: 0, toSeq: Number.MAX_SAFE_INTEGER })
    expect(look(found(['one', 5], ['two', 9]), 101)).toBeUndefined()
    expect(look(found(['one', 8], ['two', 10]), 102)).toEqual({ afterSeq: 5, toSeq: 10 })
    // One that left may be gone.
    expect(look(found(['two', 10]), 103)).toEqual({ afterSeq: 8, toSeq: Number.MAX_SAFE_INTEGER })
    expect(look(found(['two', 10]), 104)).toBeUndefined()
    expect(look(found(['one', 20], ['two', 10]), 105)).toEqual({ afterSeq: 8, toSeq: 20 })
    // A new one concerns only receipts that are written since it came.
    expect(look(found(['one', 20], ['two', 10], ['new', 101, 111_000]), 112)).toEqual({
      afterSeq: 100,
      toSeq: 101,
    })
    changes.keep([])
    expect(look(found(['two', 10]), 113)).toMatchObject({ afterSeq: 0 })
  })
})
