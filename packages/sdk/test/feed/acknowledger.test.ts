import { expect, test } from 'vitest'
import { createAcknowledger } from '../../src/feed/acknowledger.ts'
import { createTestClock } from '../../src/testing/test-clock.ts'

const epoch = '0123456789abcdef'

function acking() {
  const clock = createTestClock(0)
  const sent: number[] = []
  let fails = false
  const closed: number[] = []
  const acks = createAcknowledger(async ({ seq }, isClosing) => {
    ;(isClosing ? closed : sent).push(seq)
    if (fails) throw new Error('no answer')
  }, clock)
  return { clock, sent, closed, acks, fail: (yes: boolean) => (fails = yes) }
}

test('the first is sent at once, and the same not again before the next heartbeat (B11)', async () => {
  const { acks, sent, clock } = acking()
  acks.report({ epoch, seq: 1 })
  expect(sent).toEqual([1])
  acks.report({ epoch, seq: 1 })
  await clock.advance(3_999)
  acks.report({ epoch, seq: 1 })
  expect(sent).toEqual([1])
  await clock.advance(1)
  acks.report({ epoch, seq: 1 })
  expect(sent).toEqual([1, 1])
  // Not by itself: without heartbeats there is nothing to acknowledge.
  await clock.advance(60_000)
  expect(sent).toEqual([1, 1])
})

test('of a burst only the latest is sent, a few times a second at most', async () => {
  const { acks, sent, clock } = acking()
  for (let seq = 1; seq <= 1_000; seq++) {
    acks.report({ epoch, seq })
    if (seq % 100 === 0) await clock.advance(100)
  }
  await clock.advance(1_000)
  expect(sent.at(-1)).toBe(1_000)
  expect(sent.length).toBeLessThanOrEqual(6)
})

test('another epoch is news although the number is the same', async () => {
  const { acks, sent, clock } = acking()
  acks.report({ epoch, seq: 1 })
  await clock.advance(1_000)
  acks.report({ epoch: 'fedcba9876543210', seq: 1 })
  expect(sent).toEqual([1, 1])
})

test('one that was lost is sent again with the next note, not by itself', async () => {
  const { acks, sent, clock, fail } = acking()
  fail(true)
  acks.report({ epoch, seq: 1 })
  await clock.advance(500)
  acks.report({ epoch, seq: 2 })
  expect(sent).toEqual([1])
  fail(false)
  await clock.advance(60_000)
  expect(sent).toEqual([1])
  acks.report({ epoch, seq: 2 })
  expect(sent).toEqual([1, 2])
})

test('after a reconnect it is said once more', async () => {
  const { acks, sent, clock } = acking()
  acks.report({ epoch, seq: 1 })
  await clock.advance(1_000)
  acks.renew()
  acks.report({ epoch, seq: 1 })
  expect(sent).toEqual([1, 1])
})

test('nothing is sent after the end', async () => {
  const { acks, sent, clock } = acking()
  acks.report({ epoch, seq: 1 })
  acks.report({ epoch, seq: 2 })
  await acks.close()
  acks.report({ epoch, seq: 3 })
  await clock.advance(60_000)
  expect(sent).toEqual([1])
})

test('the end is told once, by a verifier that has proven a head', async () => {
  const { acks, closed, clock, fail } = acking()
  acks.report({ epoch, seq: 1 })
  await clock.advance(1_000)
  fail(true)
  await acks.close()
  await acks.close()
  expect(closed).toEqual([1])
  const unheard = acking()
  await unheard.acks.close()
  expect(unheard.closed).toEqual([])
})

test('a hint about an unknown key travels with an acknowledgement, at most one in ten seconds', async () => {
  const clock = createTestClock(0)
  const hints: (string | undefined)[] = []
  const acks = createAcknowledger(async (_head, _isClosing, refreshIssuer) => {
    hints.push(refreshIssuer)
  }, clock)
  acks.requestIssuerRefresh('https://idp.example')
  // Without a proven head there is nothing to acknowledge yet.
  expect(hints).toEqual([])
  acks.report({ epoch, seq: 1 })
  expect(hints).toEqual(['https://idp.example'])
  await clock.advance(9_999)
  acks.requestIssuerRefresh('https://idp.example')
  acks.report({ epoch, seq: 1 })
  expect(hints).toEqual(['https://idp.example', undefined])
  await clock.advance(1)
  acks.requestIssuerRefresh('https://other.example')
  await clock.advance(250)
  expect(hints.at(-1)).toBe('https://other.example')
  await acks.close()
})
