import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGuard, type Guard } from '../src/guard/guard.ts'
import { FAIL_OPEN, type GuardOptions } from '../src/guard/options.ts'
import { rest } from '../src/testing/test-clock.ts'
import { testRequest } from '../src/testing/test-request.ts'
import { createTestSite, type TestCredential, type TestSite } from '../src/testing/test-site.ts'
import { meddled } from './network.ts'
import { ROUTE } from './protected.ts'

/** B_sdk of this search. */
const BOUND_SECONDS = 6

const USERS = ['alice', 'bob'] as const
type Action =
  | { readonly do: 'revoke' | 'verify' | 'present token'; readonly user: 0 | 1; readonly kind: 0 | 1 | 2 }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'cut' | 'repair' | 'silence' | 'heartbeat' | 'restore' }

const user = fc.constantFrom(0 as const, 1 as const)
const kind = fc.constantFrom(0 as const, 1 as const, 2 as const)
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('revoke' as const), user, kind }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('verify' as const, 'present token' as const), user, kind }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      ms: fc.constantFrom(1, 400, 1_500, 3_000, 6_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('cut' as const, 'repair' as const, 'silence' as const, 'heartbeat' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restore' as const) }) },
)

/**
 * One guard, and a service whose every answer, piece of the feed, introspection and nonce arrives
 * when the scheduler says so. Actions happen in their order, everything else in between as it
 * comes. Throws when an invariant is broken.
 */
async function search(
  s: fc.Scheduler,
  actions: readonly Action[],
  options: Partial<GuardOptions>,
): Promise<void> {
  const site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  const later = <Value>(value: Value, label: string) => s.schedule(Promise.resolve(value), label)
  const guard = createGuard({
    ...site.guardOptions,
    maxStalenessSeconds: BOUND_SECONDS,
    fetch: scheduled(site, later),
    nonceStore: { consume: () => later('fresh' as const, 'nonce') },
    ...options,
  })
  guard.ready().catch(() => undefined)

  // For each user: one credential that is bound, so that its verification waits, one that is not,
  // and a token of that one.
  const held = await Promise.all(
    USERS.map(async (name) => ({
      bound: await site.issue({ user: name, bound: true }),
      plain: await site.issue({ user: name }),
    })),
  )
  const tokens = await Promise.all(held.map(({ plain }) => site.exchange(plain)))
  /** When the revocation of it was acknowledged, by credential id. */
  const revokedMs = new Map<string, number>()
  /** Where the log says so. */
  const revokedAt = new Map<string, { readonly epoch: string; readonly seq: number }>()
  /** What a restore has lost, and those of it that the guard had acknowledged before. */
  const lost = new Set<string>()
  const carried = new Set<string>()
  const pending: Promise<void>[] = []
  let lastSeq = 0
  let lastEpoch = ''

  const acceptable = (verdict: Awaited<ReturnType<Guard['verify']>>, credential: TestCredential) => {
    const now = site.clock.nowMs
    const { seq, epoch, ageMs, ready } = guard.state()
    // I-8, I-9: what is known is a beginning of the log, and within an epoch it only grows.
    if (epoch === site.log.head.epoch) expect(seq).toBeLessThanOrEqual(site.log.head.seq)
    if (epoch === lastEpoch) expect(seq).toBeGreaterThanOrEqual(lastSeq)
    lastEpoch = epoch
    lastSeq = seq
    expect(ready).toBe(ageMs <= BOUND_SECONDS * 1000)
    if (!verdict.ok) return
    // I-24: what was acknowledged stays revoked, whatever the log has lost since.
    expect(carried.has(credential.credentialId), 'accepted after it was acknowledged as revoked').toBe(false)
    // I-3: nothing is accepted with stale revocation data.
    expect(verdict.view.ageMs, 'accepted with stale revocation data').toBeLessThanOrEqual(
      BOUND_SECONDS * 1000,
    )
    // I-2, I-5: nothing is accepted later than the bound after its revocation, or that of what it
    // stands on.
    const sinceMs = revokedMs.get(credential.credentialId)
    if (sinceMs !== undefined)
      expect(now - sinceMs, 'accepted after the bound').toBeLessThanOrEqual(BOUND_SECONDS * 1000)
  }

  const run = async (step: Action) => {
    switch (step.do) {
      case 'revoke': {
        const { bound, plain } = held[step.user] as (typeof held)[number]
        if (step.kind === 0) await site.revoke(bound)
        else if (step.kind === 1) await site.revoke(plain)
        else await site.revokeUser(USERS[step.user])
        for (const one of step.kind === 2 ? [bound, plain] : [step.kind === 0 ? bound : plain]) {
          if (revokedMs.has(one.credentialId)) continue
          revokedMs.set(one.credentialId, site.clock.nowMs)
          revokedAt.set(one.credentialId, site.log.head)
        }
        break
      }
      case 'verify': {
        const { bound, plain } = held[step.user] as (typeof held)[number]
        const credential = step.kind === 0 ? bound : plain
        const request = testRequest('GET', ROUTE, await credential.headersFor('GET', ROUTE))
        pending.push(guard.verify(request).then((verdict) => acceptable(verdict, credential)))
        break
      }
      case 'present token': {
        const request = testRequest('GET', ROUTE, { authorization: `Bearer ${tokens[step.user]}` })
        const { plain } = held[step.user] as (typeof held)[number]
        pending.push(guard.verify(request).then((verdict) => acceptable(verdict, plain)))
        break
      }
      case 'advance':
        await site.clock.advance(step.ms)
        break
      case 'heartbeat':
        await site.service.heartbeat()
        break
      case 'restore':
        // A restore loses revocations; guards keep those that they have proof of.
        for (const [id, { epoch, seq }] of revokedAt) {
          const acknowledged = site.service.acknowledged.get(guard.state().verifierId)
          if (acknowledged?.epoch === epoch && acknowledged.seq >= seq) carried.add(id)
          lost.add(id)
        }
        revokedMs.clear()
        revokedAt.clear()
        await site.restore()
        break
      default:
        site.service.setNetwork(step.do === 'repair' ? 'ok' : step.do === 'cut' ? 'cut' : 'silent')
    }
    for (const one of pending) one.catch(() => undefined)
    await rest(1)
  }

  try {
    const sequence = s.scheduleSequence(
      actions.map((step) => ({ label: JSON.stringify(step), builder: () => run(step) })),
    )
    await s.waitFor(sequence.task)
    // Then all faults stop, and everything that is under way arrives (I-21).
    site.service.setNetwork('ok')
    const { head } = site.log
    const isAtHead = ({ ready, epoch, seq }: ReturnType<Guard['state']>) =>
      ready && epoch === head.epoch && seq === head.seq
    let isAnswered = false
    const answered = Promise.all(pending).finally(() => (isAnswered = true))
    answered.catch(() => undefined)
    for (let waitedMs = 0; waitedMs < 40_000 && !(isAnswered && isAtHead(guard.state())); waitedMs += 500) {
      await site.clock.advance(500)
      while (s.count() > 0) await s.waitOne()
    }
    expect(isAnswered, 'every verification comes to an end').toBe(true)
    await answered
    expect(guard.state()).toMatchObject({ ready: true, seq: site.log.head.seq, epoch: site.log.head.epoch })
    if (options[FAIL_OPEN] === undefined) {
      for (const { bound, plain } of held) {
        for (const one of [bound, plain]) {
          const verdict = guard.verify(testRequest('GET', ROUTE, await one.headersFor('GET', ROUTE)))
          await rest(1)
          while (s.count() > 0) await s.waitOne()
          const { ok } = await verdict
          const isRevoked = revokedMs.has(one.credentialId) || carried.has(one.credentialId)
          // A guard may have proof of what it had not acknowledged yet.
          if (isRevoked || !lost.has(one.credentialId)) expect(ok).toBe(!isRevoked)
        }
      }
    }
  } finally {
    // The last acknowledgement of a guard that closes is scheduled like everything else.
    const closed = guard.close()
    await rest(1)
    while (s.count() > 0) await s.waitOne()
    await closed
    await site.close()
  }
}

/** Every answer is scheduled, and of the feed every piece. */
function scheduled(site: TestSite, later: <Value>(value: Value, label: string) => Promise<Value>) {
  return meddled(async (url, init) => {
    const path = new URL(url).pathname
    const response = await later(await site.service.fetch(url, init), path)
    if (!path.endsWith('/feed') || response.body === null) return response
    const slow = new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        controller.enqueue(await later(chunk, 'piece of the feed'))
      },
    })
    return new Response(response.body.pipeThrough(slow), response)
  }, {})
}

const property = (options: Partial<GuardOptions> = {}) =>
  fc.asyncProperty(fc.scheduler(), fc.array(action, { minLength: 5, maxLength: 25 }), (s, actions) =>
    search(s, actions, options),
  )

const RUNS = Number(process.env.SEARCH_RUNS ?? 100)

test('I-1 to I-5, I-8, I-9, I-24: in no order of appending, reading, proving and verifying is anything accepted after the bound', {
  tags: 'long',
  timeout: 600_000,
}, async () => {
  await fc.assert(property(), { numRuns: RUNS })
})

test('control: a guard that fails open is caught by the same search', async () => {
  const { failed } = await fc.check(property({ [FAIL_OPEN]: true }), { numRuns: 500, endOnFailure: true })
  expect(failed).toBe(true)
}, 600_000)
