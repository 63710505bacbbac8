import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import type { Deps } from '../../../src/deps.ts'
import { withPropagation } from '../../../src/routes/shared/with-propagation.ts'
import { quiet } from '../../log/log-double.ts'
import { anonymous, keyOf } from '../../node.ts'

const SITE = 'a.example' as SiteId
const entry = { epoch: 'epoch000', seq: 4, atMs: 0 }
const PENDING = {
  verifierId: 'inner-host',
  instanceId: 'i1',
  state: 'waiting',
  seq: 3,
  acknowledgedAtMs: undefined,
  appliedAtMs: undefined,
  deniedAtMs: undefined,
  rejectsFromMs: 40_000,
}
const RECEIPT = {
  connected: 2,
  acknowledged: 1,
  expected: 2,
  elapsedMs: 7,
  committedAtMs: 1000,
  deniedEverywhereAtMs: undefined,
  deniedAtLatestMs: 71_000,
  pending: [PENDING],
  verifiers: [PENDING],
  exceptions: [PENDING],
}
const waitOutside = <T>(wait: () => Promise<T>) => wait()
const deps = {
  log: quiet,
  verifiers: { receipt: async () => RECEIPT },
} as unknown as Deps

it('tells a key of the site who lags behind, and a holder only how many (I-20)', async () => {
  const [byKey, byHolder] = await Promise.all(
    [keyOf(SITE), anonymous].map((caller) =>
      withPropagation(
        { preferWaitSeconds: 3, prefersDeniedEverywhere: false, caller, waitOutside },
        deps,
        SITE,
        entry,
        {
          success: true,
        },
      ),
    ),
  )
  const counts = {
    connected: 2,
    acknowledged: 1,
    expected: 2,
    elapsed_ms: 7,
    committed_at: '1970-01-01T00:00:01Z',
    denied_everywhere_at: null,
    denied_at_latest: '1970-01-01T00:01:11Z',
  }
  const named = { verifier_id: 'inner-host', instance_id: 'i1' }
  expect(byKey?.body).toEqual({
    success: true,
    propagation: {
      ...counts,
      laggards: [{ ...named, seq: 3 }],
      verifiers: [
        {
          ...named,
          state: 'waiting',
          seq: 3,
          acknowledged_at: null,
          applied_ms: null,
          first_denied_ms: null,
          rejects_from: '1970-01-01T00:00:40Z',
        },
      ],
      exceptions: [{ ...named, reason: 'fails_open' }],
    },
  })
  expect(byHolder?.body).toEqual({
    success: true,
    propagation: { ...counts, laggards: [], verifiers: [], exceptions: [] },
  })
})

it('asks no verifier when the caller does not want to wait, or there is nothing to wait for', async () => {
  const unasked = {
    log: quiet,
    verifiers: { receipt: () => Promise.reject(new Error('asked')) },
  } as unknown as Deps
  const plain = { status: 200, body: { success: true } }
  expect(
    await withPropagation(
      { preferWaitSeconds: undefined, prefersDeniedEverywhere: false, caller: anonymous, waitOutside },
      unasked,
      SITE,
      entry,
      plain.body,
    ),
  ).toEqual(plain)
  expect(
    await withPropagation(
      { preferWaitSeconds: 3, prefersDeniedEverywhere: false, caller: anonymous, waitOutside },
      unasked,
      SITE,
      undefined,
      plain.body,
    ),
  ).toEqual(plain)
})

it('I-19: answers with the receipt of this moment when too many requests wait', async () => {
  const waits: unknown[] = []
  const verifiers = { receipt: async (...[, , wait]: unknown[]) => (waits.push(wait), RECEIPT) }
  const request = {
    preferWaitSeconds: 3,
    prefersDeniedEverywhere: true,
    caller: keyOf(SITE),
    waitOutside: () => undefined,
  }
  const answer = await withPropagation(request, { ...deps, verifiers } as unknown as Deps, SITE, entry, {
    success: true,
  })
  expect(waits).toEqual([{ ms: 0, until: 'denied' }])
  expect(answer).toMatchObject({ status: 200, body: { success: true, propagation: { acknowledged: 1 } } })
  expect(answer.headers).toBeUndefined()
})
