import type { SiteId } from '@countersign/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { GuardClock } from '../../packages/sdk/src/feed/clock.ts'
import { createGuard, type Guard } from '../../packages/sdk/src/guard/guard.ts'
import { createTestSite } from '../../packages/sdk/src/testing/test-site.ts'
import { type CommittedEntry, createReceipt } from '../../packages/service/src/feed/receipt.ts'
import type { LeaseRow } from '../../packages/service/src/store/operations/leases.ts'

/**
 * Real guards with random bounds and clocks follow a site through networks that are cut, frozen and
 * thawed, and are restarted. The leases are written as the service writes them, and the receipts
 * are those of the service. Once a receipt has stated an instant, no guard may accept after it
 * (I-22).
 */
type Step =
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'cut' | 'freeze' | 'thaw' | 'restart' | 'close'; readonly guard: number }
  | { readonly kind: 'revoke' }
  | { readonly kind: 'receipt' }

interface Run {
  readonly bounds: readonly number[]
  /** How far the clock of each guard is from that of the service. */
  readonly skews: readonly number[]
  readonly steps: readonly Step[]
}

const GUARDS = 3
const guardIndex = fc.nat({ max: GUARDS - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 100, max: 20_000 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('cut' as const, 'freeze' as const, 'thaw' as const),
      guard: guardIndex,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('restart' as const, 'close' as const), guard: guardIndex }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'revoke' as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'receipt' as const }) },
)
const run: fc.Arbitrary<Run> = fc.record({
  bounds: fc.array(fc.constantFrom(1, 5, 30, 300), { minLength: GUARDS, maxLength: GUARDS }),
  skews: fc.array(fc.integer({ min: -4000, max: 4000 }), { minLength: GUARDS, maxLength: GUARDS }),
  steps: fc.array(step, { minLength: 5, maxLength: 20 }),
})

/** What a receipt states; undefined: nothing yet. */
type State = (leases: readonly LeaseRow[], entry: CommittedEntry, nowMs: number) => number | undefined
const byLeases: State = (leases, entry, nowMs) =>
  createReceipt(
    { readAtMs: nowMs, nodes: [], leases, streams: [], departed: [], headReadersUntilMs: 0 },
    entry,
    nowMs,
  ).deniedEverywhereAtMs
/** What a receipt without leases can say: that every connected verifier has acknowledged. */
const byConnections: State = (leases, entry, nowMs) => {
  const { connected, acknowledged } = createReceipt(
    { readAtMs: nowMs, nodes: [], leases, streams: [], departed: [], headReadersUntilMs: 0 },
    entry,
    nowMs,
  )
  return connected === acknowledged ? nowMs : undefined
}

const MAX_AGE_MS = 60_000

/** The acceptances after a stated instant. */
async function lateAcceptances({ bounds, skews, steps }: Run, state: State): Promise<string[]> {
  const site = await createTestSite()
  const { clock } = site
  const leases = new Map<string, LeaseRow>()
  const late: string[] = []
  const stated: { readonly user: string; readonly atMs: number }[] = []
  const revoked: { readonly user: string; readonly header: string; readonly entry: CommittedEntry }[] = []
  let made = 0

  /**
   * A network of one guard: cut, or frozen with all that was under way, which arrives when it is
   * thawed.
   */
  const createNetwork = () => {
    let condition: 'well' | 'cut' | 'frozen' = 'well'
    let thawed: (() => void)[] = []
    const ends = new Set<() => void>()
    const passes = async () => {
      if (condition === 'frozen') await new Promise<void>((resolve) => thawed.push(resolve))
      if (condition === 'cut') throw new TypeError('the network is cut')
    }
    return {
      become(next: 'well' | 'cut' | 'frozen') {
        condition = next
        if (next === 'cut') for (const end of ends) end()
        if (next === 'frozen') return
        const waiting = thawed
        thawed = []
        for (const go of waiting) go()
      },
      async fetch(url: string, init: RequestInit): Promise<Response> {
        await passes()
        const headers = new Headers(init.headers)
        const instanceId = headers.get('x-verifier-instance') ?? ''
        const { pathname } = new URL(url)
        const isFeed = pathname.endsWith('/feed')
        if (isFeed || pathname.endsWith('/snapshot')) {
          const before = leases.get(instanceId)
          const streamId = isFeed ? `node.${++made}` : (before?.streamId ?? '')
          leases.set(instanceId, {
            siteId: site.siteId as SiteId,
            keyId: 'key',
            instanceId,
            verifierId: instanceId,
            isNamed: false,
            boundMs: Number(headers.get('x-verifier-max-staleness')) * 1000,
            failsOpen: headers.has('x-verifier-fail-open'),
            openedAtMs: before?.openedAtMs ?? clock.nowMs,
            declaredAtMs: clock.nowMs,
            nodeId: streamId === '' ? '' : 'node',
            streamId,
            nodeUntilMs: streamId === '' ? 0 : Infinity,
            connectedAtMs: clock.nowMs,
            servedAtMs: clock.nowMs,
            epoch: site.log.head.epoch,
            seq: before?.seq ?? 0,
            acks: before?.acks ?? [],
            times: { applied: [], denied: [] },
            heardAtMs: before?.heardAtMs ?? 0,
            closedAtMs: undefined,
            version: headers.get('x-verifier-version') ?? '',
            lastNodeId: 'node',
            isRetired: false,
          })
          const response = await site.service.fetch(url, init)
          if (!isFeed || response.body === null) return response
          // The service sees the end of the stream when the network is cut, and knows nothing of a
          // freeze.
          const reader = response.body.getReader()
          const end = () => {
            const lease = leases.get(instanceId)
            if (lease?.streamId === streamId)
              leases.set(instanceId, {
                ...lease,
                nodeId: '',
                streamId: '',
                nodeUntilMs: 0,
                servedAtMs: clock.nowMs,
              })
            reader.cancel().catch(() => undefined)
          }
          const body = new ReadableStream<Uint8Array>({
            start(controller) {
              ends.add(() => {
                end()
                try {
                  controller.error(new TypeError('the network is cut'))
                } catch {
                  // It had ended already.
                }
              })
            },
            async pull(controller) {
              const { done, value } = await reader.read()
              await passes().catch(() => undefined)
              if (done || condition === 'cut') controller.close()
              else controller.enqueue(value)
            },
            cancel: end,
          })
          return new Response(body, { headers: response.headers })
        }
        if (pathname.endsWith('/feed/ack')) {
          const { epoch, seq, closed } = JSON.parse(String(init.body)) as {
            epoch: string
            seq: number
            closed?: true
          }
          const lease = leases.get(instanceId)
          if (lease !== undefined && epoch === site.log.head.epoch) {
            const acks = seq > lease.seq ? [...lease.acks, { seq, atMs: clock.nowMs }] : lease.acks
            const end =
              closed === true ? { closedAtMs: clock.nowMs, nodeId: '', streamId: '', nodeUntilMs: 0 } : {}
            leases.set(instanceId, {
              ...lease,
              acks,
              seq: Math.max(seq, lease.seq),
              heardAtMs: clock.nowMs,
              ...end,
            })
          }
        }
        return site.service.fetch(url, init)
      },
    }
  }

  const networks = bounds.map(createNetwork)
  const skewed = (i: number): GuardClock => {
    const skewMs = skews[i] ?? 0
    return {
      ...clock,
      read: () => ({ wallMs: clock.nowMs + skewMs, monotonicMs: clock.read().monotonicMs }),
      after: clock.after,
    }
  }
  // A guard whose clock is ahead by more than its bound never becomes ready, and that is right.
  const startGuard = async (i: number): Promise<Guard> => {
    const guard = createGuard({
      ...site.guardOptions,
      maxStalenessSeconds: bounds[i] ?? 30,
      clock: skewed(i),
      fetch: (url, init) => (networks[i] as ReturnType<typeof createNetwork>).fetch(url, init),
    })
    guard.ready().catch(() => undefined)
    await clock.advance(1)
    return guard
  }
  const guards: Guard[] = []
  for (const i of bounds.keys()) guards.push(await startGuard(i))

  const look = async () => {
    for (const { user, header } of revoked) {
      const instants = stated.filter((each) => each.user === user && each.atMs <= clock.nowMs)
      if (instants.length === 0) continue
      for (const [i, guard] of guards.entries()) {
        // It rejects everything. One that has just started would wait for its first data, on a
        // clock that stands still here.
        if (!guard.state().ready) continue
        const asked = {
          method: 'GET',
          url: `https://${site.siteId}/`,
          header: (name: string) => (name === 'x-service-credential' ? [header] : []),
        }
        const verdict = await guard.verify(asked as never)
        if (verdict.ok)
          late.push(
            `guard ${i} accepts ${user} ${clock.nowMs - Math.min(...instants.map(({ atMs }) => atMs))} ms late`,
          )
      }
    }
  }
  const credentials = await Promise.all(
    steps.map((_, i) => site.issue({ user: `user${i}`, ttlSeconds: 360_000 })),
  )

  for (const [i, each] of steps.entries()) {
    const network = 'guard' in each ? networks[each.guard] : undefined
    if (each.kind === 'wait') {
      for (let left = each.ms; left > 0; left -= 2000) {
        await clock.advance(Math.min(2000, left))
        await look()
      }
    } else if (each.kind === 'cut') network?.become('cut')
    else if (each.kind === 'freeze') network?.become('frozen')
    else if (each.kind === 'thaw') network?.become('well')
    else if (each.kind === 'restart' || each.kind === 'close') {
      network?.become('well')
      await guards[each.guard]?.close()
      if (each.kind === 'restart') guards[each.guard] = await startGuard(each.guard)
    } else if (each.kind === 'revoke') {
      const credential = credentials[i]
      if (credential === undefined) continue
      // Known to the service at once, and to each guard when its network delivers it.
      void site.revokeUser(`user${i}`)
      await clock.advance(1)
      const { epoch, seq } = site.log.head
      const atMs = clock.nowMs
      const times = {
        atMs,
        committedAtMs: atMs,
        deniedHereAtMs: atMs,
        headsDeadAtMs: atMs + MAX_AGE_MS,
        headAgeMsMax: MAX_AGE_MS,
      }
      const entry = { epoch, seq, position: seq, ...times }
      revoked.push({ user: `user${i}`, header: credential.header, entry })
    } else {
      for (const { user, entry } of revoked) {
        const atMs = state([...leases.values()], entry, clock.nowMs)
        if (atMs !== undefined) stated.push({ user, atMs })
      }
    }
    await look()
  }
  for (const network of networks) network.become('well')
  for (const guard of guards) await guard.close()
  await site.close()
  return late
}

const RUNS = 60

test('after denied_everywhere_at no guard accepts, whatever is cut, frozen or restarted (I-22)', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(run, async (random) => {
      expect(await lateAcceptances(random, byLeases)).toEqual([])
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
})

test('control: that all connected verifiers have acknowledged says no such thing', async () => {
  const steps: Step[] = [
    { kind: 'cut', guard: 0 },
    { kind: 'revoke' },
    { kind: 'wait', ms: 2000 },
    { kind: 'receipt' },
    { kind: 'wait', ms: 5000 },
  ]
  const frozen = { bounds: [30, 30, 30], skews: [0, 0, 0], steps }
  expect((await lateAcceptances(frozen, byConnections)).length).toBeGreaterThan(0)
  expect(await lateAcceptances(frozen, byLeases)).toEqual([])
})
