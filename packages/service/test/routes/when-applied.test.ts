import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import type { Deps } from '../../src/deps.ts'
import { whenApplied } from '../../src/routes/when-applied.ts'
import { quiet } from '../log/log-double.ts'
import { anybody, keyOf } from '../node.ts'

const SITE = 'a.example' as SiteId
const entry = { epoch: 'epoch000', seq: 4, atMs: 0 }
const deps = {
  log: quiet,
  verifiers: { receipt: async () => ({ connected: 2, acknowledged: 1, elapsedMs: 7, laggards: [{ verifierId: 'inner-host', seq: 3 }] }) },
} as unknown as Deps

it('tells a key of the site who lags behind, and a holder only how many (I-20)', async () => {
  const [byKey, byHolder] = await Promise.all(
    [keyOf(SITE), anybody].map((caller) => whenApplied({ preferWaitSeconds: 3, caller }, deps, SITE, entry, { success: true })),
  )
  const counts = { connected: 2, acknowledged: 1, elapsed_ms: 7 }
  expect(byKey?.body).toEqual({ success: true, propagation: { ...counts, laggards: [{ verifier_id: 'inner-host', seq: 3 }] } })
  expect(byHolder?.body).toEqual({ success: true, propagation: { ...counts, laggards: [] } })
})

it('asks nobody when nobody wants to wait, or there is nothing to wait for', async () => {
  const nobody = { log: quiet, verifiers: { receipt: () => Promise.reject(new Error('asked')) } } as unknown as Deps
  const plain = { status: 200, body: { success: true } }
  expect(await whenApplied({ preferWaitSeconds: undefined, caller: anybody }, nobody, SITE, entry, plain.body)).toEqual(plain)
  expect(await whenApplied({ preferWaitSeconds: 3, caller: anybody }, nobody, SITE, undefined, plain.body)).toEqual(plain)
})
