import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Ppid } from '../../src/credential/ids.ts'
import { CREDENTIAL_LIFETIME_SECONDS_MAX } from '../../src/credential/limits.ts'
import { formatTime } from '../../src/encoding/rfc3339.ts'
import type { CheckedEntry } from '../../src/log/chain.ts'
import { compactLine } from '../../src/log/compact-line.ts'
import { type Horizon, REVOCATIONS_KEPT_MS, toHorizon } from '../../src/log/horizon.ts'
import { PagePacker, readPageLines } from '../../src/log/page.ts'
import { toRevocationLine } from '../../src/log/revocation-line.ts'
import type { RevocationLine, SnapshotHead, SnapshotLine } from '../../src/log/snapshot.ts'
import { toStateLines } from '../../src/log/state-lines.ts'
import { SiteView } from '../../src/log/view.ts'
import { runs } from '../runs.ts'
import {
  BODIES,
  createLog,
  createView,
  credential,
  EPOCH,
  NOW,
  type Saying,
  SEED,
  SITE,
  thumbprint,
  token,
  user,
} from './log-sample.ts'

const DAY = 86_400_000
const LIFETIME_MS = CREDENTIAL_LIFETIME_SECONDS_MAX * 1000
const FEW = [0, 1, 2, 3]
/** The time of the compacted snapshot. */
const AS_OF_MS = NOW + 1000 * DAY
const SITE_CHANGED: Saying = { kind: 'site.changed', body: BODIES['site.changed'], at: formatTime(NOW) }

/**
 * Entries in the order of their times, over a thousand days, each in a second of its own: a guard
 * carries the revocation of a user who was reinstated, revoked and reinstated in one second.
 */
const days = fc.array(fc.oneof(fc.integer({ min: 1, max: 999 }), fc.constant(999.99)), {
  minLength: 1,
  maxLength: 40,
  size: 'max',
})
const doing = fc.tuple(
  fc.constantFrom('revoke', 'reinstate', 'sign out', 'credential', 'token', 'holder'),
  fc.constantFrom(...FEW),
)
const anyHistory = fc
  .tuple(days, fc.array(doing, { minLength: 40, maxLength: 40 }))
  .map(([times, doings]) =>
    times
      .toSorted((one, other) => one - other)
      .map((day, i) => toSaying(doings[i] as [string, number], formatTime(NOW + day * DAY + i * 1000))),
  )

function toSaying([what, n]: readonly [string, number], time: string): Saying {
  switch (what) {
    case 'revoke':
      return { kind: 'user.revoked', body: { ppid: user(n), revoked_at: time }, at: time }
    case 'reinstate':
      return { kind: 'user.reinstated', body: { ppid: user(n), reinstated_at: time }, at: time }
    case 'sign out':
      return { kind: 'user.signed_out', body: { ppid: user(n), before: time }, at: time }
    case 'credential':
      return {
        kind: 'credential.revoked',
        body: { credential_id: credential(n), revoked_at: time },
        at: time,
      }
    case 'token':
      return { kind: 'token.revoked', body: { token_sha256: token(n), revoked_at: time }, at: time }
    default:
      return { kind: 'holder.revoked', body: { thumbprint: thumbprint(n), revoked_at: time }, at: time }
  }
}

/** The lines of a snapshot of these entries without what no longer matters, through a page. */
function compacted(entries: readonly CheckedEntry[], view: SiteView, horizon: Horizon): SnapshotLine[] {
  const packer = new PagePacker()
  for (const entry of entries) {
    const line = toRevocationLine(entry, view)
    if (line !== undefined) packer.add(line)
  }
  const kept: RevocationLine[] = []
  readPageLines(packer.finish().text, (line) => {
    const keepsUser = (ppid: Ppid) => view.userRevocation(ppid, horizon.sinceMs) !== undefined
    const rest = compactLine(line, horizon, keepsUser, () => false)
    if (rest !== undefined) kept.push(rest)
  })
  return [...toStateLines(view), ...kept]
}

/** A guard that has proof of these entries. */
function guardWith(entries: readonly CheckedEntry[]): SiteView {
  const view = new SiteView({ siteId: SITE, seed: SEED })
  for (const entry of entries) expect(view.apply(entry)).toBe('applied')
  const proof = { siteId: SITE, ...view.head, asOfMs: NOW, maxAgeSeconds: 60 }
  expect(view.confirmHead(proof, { wallMs: NOW, monotonicMs: 0 })).toBe('proven')
  return view
}

function load(
  guard: SiteView,
  of: SiteView,
  lines: readonly SnapshotLine[],
  times: { readonly asOfMs?: number; readonly nowMs?: number } = {},
): void {
  const { asOfMs = AS_OF_MS, nowMs = asOfMs } = times
  const { seq, hash } = of.head
  const head: SnapshotHead = {
    type: 'head',
    site_id: SITE,
    epoch: EPOCH,
    seq,
    hash,
    as_of: formatTime(asOfMs),
    max_age_seconds: 60,
    base: { seq: 0, hash: '0'.repeat(64) },
  }
  const loading = guard.beginLoad(head)
  for (const line of lines) loading.add(line)
  const proof = { siteId: SITE, epoch: EPOCH, seq, hash, asOfMs, maxAgeSeconds: 60 }
  expect(loading.commit(proof, { hasProvenEntry: true, nowMs })).toBe('loaded')
}

/** Signing times of credentials that are valid at `AS_OF_MS` if nothing is revoked. */
const CREATED = Array.from({ length: 367 }, (_, day) => AS_OF_MS - LIFETIME_MS + day * DAY)

/**
 * What is denied among what can still be valid. `whole` has the whole log: a credential or token
 * that it revoked too long ago has expired.
 */
function listDenied(view: SiteView, whole: SiteView): unknown {
  const firstMs = (n: number) => whole.credentialRevocation(credential(n))?.sinceMs ?? Infinity
  const firstTokenMs = (n: number) => whole.tokenRevocation(token(n))?.sinceMs ?? Infinity
  return {
    users: FEW.map((n) => CREATED.map((createdMs) => view.userRevocation(user(n), createdMs) !== undefined)),
    holders: FEW.map((n) => view.holderRevocation(thumbprint(n)) !== undefined),
    credentials: FEW.filter((n) => firstMs(n) >= AS_OF_MS - LIFETIME_MS).map(
      (n) => view.credentialRevocation(credential(n)) !== undefined,
    ),
    tokens: FEW.filter((n) => firstTokenMs(n) >= AS_OF_MS - 3_600_000).map(
      (n) => view.tokenRevocation(token(n)) !== undefined,
    ),
  }
}

describe('a compacted snapshot', () => {
  test('gives a new guard the verdicts of the whole log on everything that can still be valid', {
    tags: 'long',
  }, async () => {
    let dropped = 0
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const entries = await createLog([SITE_CHANGED, ...history])
        const whole = createView(entries)
        const lines = compacted(entries, whole, toHorizon(AS_OF_MS))
        const guard = new SiteView({ siteId: SITE, seed: SEED })
        load(guard, whole, lines)
        expect(listDenied(guard, whole)).toEqual(listDenied(whole, whole))
        dropped += whole.revocationCount - guard.revocationCount
      }),
      { numRuns: 200 },
    )
    // Control: much was removed.
    expect(dropped).toBeGreaterThan(200)
  })

  test('gives them to a guard that follows the log too, which carries nothing', {
    tags: 'long',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, fc.nat(40), async (history, cut) => {
        const last = toSaying(['holder', 9], formatTime(AS_OF_MS))
        const entries = await createLog([SITE_CHANGED, ...history, last])
        const whole = createView(entries)
        // Connected in the last 396 days: later entries are after the horizon.
        const firstRecent = entries.findIndex(({ at }) => Date.parse(at) >= AS_OF_MS - REVOCATIONS_KEPT_MS)
        const guard = guardWith(entries.slice(0, Math.min(firstRecent + cut, entries.length - 1)))
        load(guard, whole, compacted(entries, whole, toHorizon(AS_OF_MS)))
        expect(listDenied(guard, whole)).toEqual(listDenied(whole, whole))
        expect(guard.carriedRevocationCount).toBe(0)
      }),
      { numRuns: runs(200) },
    )
  })

  test('never makes a guard accept more, however long ago it was connected', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, fc.nat(40), async (history, cut) => {
        const entries = await createLog([SITE_CHANGED, ...history])
        const whole = createView(entries)
        const guard = guardWith(entries.slice(0, cut + 1))
        load(guard, whole, compacted(entries, whole, toHorizon(AS_OF_MS)))
        const [now, then] = [listDenied(guard, whole), listDenied(whole, whole)].map((each) =>
          Object.values(each as Record<string, unknown[]>).flat(2),
        )
        expect(then?.every((wasDenied, i) => !wasDenied || now?.[i] === true)).toBe(true)
      }),
      { numRuns: runs(200) },
    )
  })

  test('control: one that removes more than it may is found, and the guard carries the rest', {
    tags: 'long',
  }, async () => {
    let carried = 0
    let wrong = 0
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const last = toSaying(['holder', 9], formatTime(AS_OF_MS))
        const entries = await createLog([SITE_CHANGED, ...history, last])
        const whole = createView(entries)
        const guard = guardWith(entries.slice(0, -1))
        // As if credentials were valid for 100 days less.
        const lines = compacted(entries, whole, toHorizon(AS_OF_MS + 100 * DAY))
        load(guard, whole, lines)
        expect(listDenied(guard, whole)).toEqual(listDenied(whole, whole))
        carried += guard.carriedRevocationCount
        const newGuard = new SiteView({ siteId: SITE, seed: SEED })
        load(newGuard, whole, lines)
        if (JSON.stringify(listDenied(newGuard, whole)) !== JSON.stringify(listDenied(whole, whole))) wrong++
      }),
      { numRuns: 100 },
    )
    expect(carried).toBeGreaterThan(50)
    expect(wrong).toBeGreaterThan(10)
  })
})

describe('a snapshot that lacks a revocation', () => {
  const edgeMs = AS_OF_MS - REVOCATIONS_KEPT_MS
  const reinstated = (atMs: number): Saying[] => [
    toSaying(['revoke', 1], formatTime(NOW)),
    toSaying(['reinstate', 1], formatTime(atMs)),
  ]

  test.each([
    ['a credential', (atMs: number) => [toSaying(['credential', 1], formatTime(atMs))], 1],
    ['a sign-out', (atMs: number) => [toSaying(['sign out', 1], formatTime(atMs))], 1],
    ['a reinstated user', reinstated, 1],
  ] as const)('%s: a guard carries it within the horizon, and no longer after it', async (_, say, count) => {
    for (const [atMs, expected] of [
      [edgeMs, count],
      [edgeMs - 1000, 0],
    ] as const) {
      const entries = await createLog([SITE_CHANGED, ...say(atMs)])
      const guard = guardWith(entries)
      const other = createView(
        await createLog([SITE_CHANGED, ...FEW.map((n) => toSaying(['holder', n + 5], formatTime(NOW)))]),
      )
      load(guard, other, [{ type: 'site', ...BODIES['site.changed'] }])
      expect(guard.carriedRevocationCount).toBe(expected)
    }
  })

  test.each([
    ['a user that is revoked now', 'revoke'],
    ['a holder key', 'holder'],
  ])('%s: a guard carries it whatever its age', async (_, what) => {
    const entries = await createLog([SITE_CHANGED, toSaying([what, 1], formatTime(NOW))])
    const guard = guardWith(entries)
    const other = createView(
      await createLog([SITE_CHANGED, ...FEW.map((n) => toSaying(['holder', n + 5], formatTime(NOW)))]),
    )
    load(guard, other, [{ type: 'site', ...BODIES['site.changed'] }])
    expect(guard.carriedRevocationCount).toBe(1)
  })

  test.each([
    ['a credential', [toSaying(['credential', 1], formatTime(NOW))]],
    ['a sign-out', [toSaying(['sign out', 1], formatTime(NOW))]],
    ['a token', [toSaying(['token', 1], formatTime(NOW))]],
    ['a reinstated user', reinstated(NOW)],
    ['a user that is revoked now', [toSaying(['revoke', 1], formatTime(NOW))]],
  ] as const)('%s: a service whose clock is years ahead cannot make a guard forget it', async (_, say) => {
    const guard = guardWith(await createLog([SITE_CHANGED, ...say]))
    const other = createView(
      await createLog([SITE_CHANGED, ...FEW.map((n) => toSaying(['holder', n + 5], formatTime(NOW)))]),
    )
    const lines: SnapshotLine[] = [{ type: 'site', ...BODIES['site.changed'] }]
    const ahead = { asOfMs: NOW + 3000 * DAY, nowMs: NOW + 60_000 }
    // Twice: what is carried already is not forgotten either.
    for (const nowMs of [ahead.nowMs, ahead.nowMs + 1000]) {
      load(guard, other, lines, { ...ahead, nowMs })
      expect(guard.carriedRevocationCount).toBe(1)
    }
    // Control: years later on this machine too, it no longer matters.
    load(guard, other, lines, { asOfMs: NOW + 6000 * DAY })
    expect(guard.carriedRevocationCount).toBe(0)
  })
})
