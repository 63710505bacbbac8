import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CARRIED_REVOCATIONS_MAX } from '../../src/log/carried-revocations.ts'
import type { EpochStatement } from '../../src/log/epoch-statement.ts'
import type { LogHead } from '../../src/log/position.ts'
import { Revocations } from '../../src/log/revocations.ts'
import type { SnapshotHead, SnapshotLine } from '../../src/log/snapshot.ts'
import { SiteView } from '../../src/log/view.ts'
import { runs } from '../runs.ts'
import {
  activeKey,
  at,
  BODIES,
  createLog,
  createView,
  credential,
  EPOCH,
  issuer,
  issuerState,
  msAt,
  NOW,
  type Saying,
  SEED,
  SITE,
  token,
  toMs,
  user,
} from './log-sample.ts'
import { PlainSite } from './plain-site.ts'
import { anyLog, CREATED, FEW, listAnswers, type TimedSaying, userLog } from './random-log.ts'

const NEXT = 'fedcba9876543210'
const LAST = 'aaaabbbbccccdddd'
const AS_OF_MS = msAt(1000)
const open: Saying = { kind: 'site.changed', body: BODIES['site.changed'], at: at(0) }

describe('a new epoch', () => {
  test('I-24 keeps every proven revocation that it lacks: credential, token, user, compromised key', async () => {
    const view = await proven([
      open,
      { kind: 'issuer.trusted', body: issuerState(1, [activeKey('key-1', 1)]) },
      { kind: 'credential.revoked', body: { credential_id: credential(1), revoked_at: at(1) } },
      { kind: 'token.revoked', body: { token_sha256: token(1), revoked_at: at(2) } },
      { kind: 'user.revoked', body: { ppid: user(1), revoked_at: at(3) } },
      { kind: 'key.compromised', body: { issuer: issuer(1), key_id: 'key-1', at: at(4) } },
    ])
    const trusted: Saying = {
      kind: 'issuer.trusted',
      body: issuerState(1, [activeKey('key-1', 1)]),
      at: at(0),
    }
    expect(follow(view, NEXT, [open, trusted])).toBe('loaded')
    expect(view.carriedRevocationCount).toBe(4)
    expect(view.credentialRevocation(credential(1))).toEqual({ by: 'credential', sinceMs: msAt(1) })
    expect(view.tokenRevocation(token(1))).toEqual({ by: 'token', sinceMs: msAt(2) })
    expect(view.userRevocation(user(1), msAt(500))).toEqual({ by: 'user', sinceMs: msAt(3) })
    expect(view.issuer(issuer(1))?.keys.get(`${issuer(1)}#key-1`)?.status).toBe('compromised')
    expect(view.credentialRevocation(credential(2))).toBeUndefined()
  })

  test('has nothing to carry when it has all of them', async () => {
    const sayings: Saying[] = [
      open,
      { kind: 'user.revoked', body: { ppid: user(1), revoked_at: at(3) }, at: at(3) },
    ]
    const view = await proven(sayings)
    expect(follow(view, NEXT, sayings)).toBe('loaded')
    expect(view.carriedRevocationCount).toBe(0)
  })

  test('does not carry what was never proven', async () => {
    const view = await proven([open])
    for (const entry of await createLog(
      [{ kind: 'user.revoked', body: { ppid: user(1), revoked_at: at(3) } }],
      view.head,
    ))
      view.apply(entry)
    expect(view.userRevocation(user(1), msAt(0))).toBeDefined()
    expect(follow(view, NEXT, [open])).toBe('loaded')
    expect(view.carriedRevocationCount).toBe(0)
    expect(view.userRevocation(user(1), msAt(0))).toBeUndefined()
  })

  test('is followed over several statements, and not past a missing one', async () => {
    const sayings: Saying[] = [open, { kind: 'user.revoked', body: { ppid: user(1), revoked_at: at(3) } }]
    const link = statement(EPOCH, NEXT)
    const next = statement(NEXT, LAST)
    expect(follow(await proven(sayings), LAST, [open], [link, next])).toBe('loaded')
    expect(follow(await proven(sayings), LAST, [open], [next])).toBe('unlinked_epoch')
    expect(follow(await proven(sayings), LAST, [open], [link])).toBe('unlinked_epoch')
    expect(
      follow(await proven(sayings), LAST, [open], [{ ...link, site_id: 'other.example' as never }, next]),
    ).toBe('unlinked_epoch')
    const back = await proven(sayings)
    follow(back, NEXT, [open])
    expect(follow(back, EPOCH, sayings, [link])).toBe('unlinked_epoch')
  })

  test('keeps them through further epochs and snapshots, until the log revokes them itself', async () => {
    const view = await proven([
      open,
      { kind: 'credential.revoked', body: { credential_id: credential(1), revoked_at: at(1) } },
    ])
    follow(view, NEXT, [open])
    follow(view, LAST, [
      open,
      { kind: 'credential.revoked', body: { credential_id: credential(2), revoked_at: at(2) }, at: at(2) },
    ])
    expect(view.carriedRevocationCount).toBe(1)
    follow(view, LAST, [
      open,
      { kind: 'credential.revoked', body: { credential_id: credential(2), revoked_at: at(2) }, at: at(2) },
    ])
    expect(view.credentialRevocation(credential(1))).toBeDefined()
    follow(view, 'eeeeffff00001111', [open], [statement(LAST, 'eeeeffff00001111')])
    expect(view.carriedRevocationCount).toBe(2)
    expect([1, 2].every((n) => view.credentialRevocation(credential(n)) !== undefined)).toBe(true)

    const again: Saying = {
      kind: 'credential.revoked',
      body: { credential_id: credential(1), revoked_at: at(600) },
    }
    for (const entry of await createLog([again], view.head)) view.apply(entry)
    expect(view.carriedRevocationCount).toBe(2)
    prove(view, AS_OF_MS + 1)
    expect(view.carriedRevocationCount).toBe(1)
    expect(view.credentialRevocation(credential(1))).toEqual({ by: 'credential', sinceMs: msAt(600) })
  })

  test('lifts the revocation of a user with a proven reinstatement of its own, and with no older one', async () => {
    const earlier: Saying[] = [
      { kind: 'user.revoked', body: { ppid: user(1), revoked_at: at(1) }, at: at(1) },
      { kind: 'user.reinstated', body: { ppid: user(1), reinstated_at: at(10) }, at: at(10) },
    ]
    const view = await proven([
      open,
      ...earlier,
      { kind: 'user.revoked', body: { ppid: user(1), revoked_at: at(20) } },
    ])
    follow(view, NEXT, [open, ...earlier])
    expect(view.carriedRevocationCount).toBe(1)
    expect(view.userRevocation(user(1), msAt(15))).toBeDefined()
    expect(view.userRevocation(user(1), msAt(700))).toBeDefined()
    const reinstated: Saying = { kind: 'user.reinstated', body: { ppid: user(1), reinstated_at: at(600) } }
    for (const entry of await createLog([reinstated], view.head)) view.apply(entry)
    expect(view.userRevocation(user(1), msAt(700))).toBeDefined()
    prove(view, AS_OF_MS + 1)
    expect(view.userRevocation(user(1), msAt(700))).toBeUndefined()
    expect(view.userRevocation(user(1), msAt(15))).toBeDefined()
    expect(view.carriedRevocationCount).toBe(0)
  })

  test(`is not followed when it lacks more than ${CARRIED_REVOCATIONS_MAX} of them`, { tags: 'long' }, () => {
    const many = (count: number) => {
      const view = new SiteView({ siteId: SITE, seed: SEED })
      const head: SnapshotHead = { ...new PlainSite().snapshotHead(7, token(7)), as_of: at(0) }
      const load = view.beginLoad(head)
      load.add({ type: 'site', ...BODIES['site.changed'] })
      for (let n = 0; n < count; n++)
        load.add({ type: 'credential', credential_id: credential(n), revoked_at: at(1) })
      expect(
        load.commit({
          siteId: SITE,
          epoch: EPOCH,
          seq: 7,
          hash: token(7),
          asOfMs: msAt(0),
          maxAgeSeconds: 60,
        }),
      ).toBe('loaded')
      return view
    }
    const view = many(CARRIED_REVOCATIONS_MAX + 1)
    expect(follow(view, NEXT, [open])).toBe('too_many_carried')
    expect(view.provenHead?.epoch).toBe(EPOCH)
    expect(
      follow(view, NEXT, [
        open,
        { kind: 'credential.revoked', body: { credential_id: credential(0), revoked_at: at(1) } },
      ]),
    ).toBe('loaded')
    expect(view.carriedRevocationCount).toBe(CARRIED_REVOCATIONS_MAX)
  })

  test('forgets them when every credential of that time has expired, and tokens after a day', async () => {
    const revoked: Saying[] = [
      { kind: 'credential.revoked', body: { credential_id: credential(1), revoked_at: at(1) } },
      { kind: 'token.revoked', body: { token_sha256: token(1), revoked_at: at(1) } },
      { kind: 'user.revoked', body: { ppid: user(1), revoked_at: at(1) } },
    ]
    const day = 86_400_000
    const view = await proven([open, ...revoked])
    follow(view, NEXT, [open], undefined, NOW + 2 * day)
    expect(view.carriedRevocationCount).toBe(2)
    follow(view, NEXT, [open], undefined, NOW + (366 + 29) * day)
    expect(view.carriedRevocationCount).toBe(2)
    follow(view, NEXT, [open], undefined, NOW + (366 + 31) * day)
    expect(view.credentialRevocation(credential(1))).toBeUndefined()
    // A user that is revoked now could get new credentials, so the log keeps the revocation.
    expect(view.userRevocation(user(1), NOW + 100 * day)).toBeDefined()
    follow(view, NEXT, [open], undefined, NOW + (366 + 33) * day)
    expect(view.carriedRevocationCount).toBe(0)
  })
})

describe('another history of the same epoch', () => {
  const others = (count: number): Saying[] =>
    Array.from({ length: count }, (_, n) => ({
      kind: 'credential.revoked',
      body: { credential_id: credential(50 + n), revoked_at: at(1) },
    }))

  test('I-24 that a relay passes off as an extension makes no proven revocation vanish', async () => {
    const view = await proven([
      open,
      { kind: 'credential.revoked', body: { credential_id: credential(1), revoked_at: at(1) } },
    ])
    expect(follow(view, EPOCH, [open, ...others(3)])).toBe('loaded')
    expect(view.carriedRevocationCount).toBe(1)
    expect(view.credentialRevocation(credential(1))).toEqual({ by: 'credential', sinceMs: msAt(1) })
    // A second snapshot, of the same head or a higher one, does not either.
    follow(view, EPOCH, [open, ...others(3)], undefined, AS_OF_MS + 1)
    follow(view, EPOCH, [open, ...others(5)], undefined, AS_OF_MS + 2)
    expect(view.carriedRevocationCount).toBe(1)
    expect(view.credentialRevocation(credential(1))).toBeDefined()
  })

  test('I-24 revokes all that was proven, whatever the two logs say, unless a user was reinstated since', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, anyLog, async (before, after) => {
        const view = await proven([open, ...before])
        const old = listAnswers(view) as Answers
        expect(follow(view, EPOCH, [open, ...after, ...others(41)])).toBe('loaded')
        const now = listAnswers(view) as Answers
        for (const n of FEW) {
          if (old.credentials[n] !== undefined) expect(now.credentials[n]).toBeDefined()
          if (old.tokens[n] !== undefined) expect(now.tokens[n]).toBeDefined()
          const isSettled = lastReinstated(after, n) > lastReinstated(before, n)
          for (const i of CREATED.keys())
            if (!isSettled && old.users[n]?.[i] !== undefined) expect(now.users[n]?.[i]).toBeDefined()
        }
        for (const [i, revocation] of old.keyRevocations.entries())
          if (revocation !== undefined) expect(now.keyRevocations[i]).toBeDefined()
      }),
      { numRuns: runs(100) },
    )
  })

  test('has nothing to carry when it is an extension', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, anyLog, async (before, after) => {
        const log = inOrder([{ ...open, at: at(0) }, ...before, ...after])
        const view = await proven(log.slice(0, before.length + 1))
        expect(follow(view, EPOCH, [...log, ...others(1)])).toBe('loaded')
        expect(view.carriedRevocationCount).toBe(0)
        expect(listAnswers(view)).toEqual(listAnswers(createView(await createLog(log))))
      }),
      { numRuns: runs(100) },
    )
  })
})

describe('revocations that another log lacks', () => {
  test('together with that log revoke all that this one does, unless that one has reinstated since', async () => {
    await fc.assert(
      fc.property(userLog, userLog, (before, after) => {
        const [old, next] = [createRevocations(before), createRevocations(after)]
        const missing = old.missingFrom(next)
        for (const n of FEW) {
          const isSettled = lastReinstated(after, n) > lastReinstated(before, n)
          for (const createdMs of CREATED) {
            const isRevoked =
              next.user(user(n), createdMs) !== undefined || missing.user(user(n), createdMs) !== undefined
            if (old.user(user(n), createdMs) !== undefined && !isSettled) expect(isRevoked).toBe(true)
            if (next.user(user(n), createdMs) !== undefined) expect(isRevoked).toBe(true)
            // Nothing else is revoked.
            if (isRevoked) expect(old.user(user(n), createdMs) ?? next.user(user(n), createdMs)).toBeDefined()
          }
        }
        expect(old.missingFrom(old).size).toBe(0)
      }),
    )
  })

  test('added to others revoke whatever either of them does', () => {
    fc.assert(
      fc.property(userLog, userLog, (one, other) => {
        const [left, right] = [createRevocations(one), createRevocations(other)]
        const both = createRevocations(one)
        both.addAll(right)
        for (const n of FEW)
          for (const createdMs of CREATED)
            if ((left.user(user(n), createdMs) ?? right.user(user(n), createdMs)) !== undefined)
              expect(both.user(user(n), createdMs)).toBeDefined()
      }),
    )
  })

  test('are found among many, in tables that are spread over parts', () => {
    const [old, next] = [new Revocations(SEED), new Revocations(SEED)]
    for (let n = 0; n < 30_000; n++) {
      old.revokeCredential(credential(n), n)
      if (n % 3 !== 0) next.revokeCredential(credential(n), n)
    }
    const missing = old.missingFrom(next)
    expect(missing.size).toBe(10_000)
    expect(missing.credential(credential(29_997))).toEqual({ by: 'credential', sinceMs: 29_997 })
    expect(missing.credential(credential(29_998))).toBeUndefined()
  })

  test('cannot be found between tables of different seeds', () => {
    expect(() => new Revocations(SEED).missingFrom(new Revocations([1, 2]))).toThrow(TypeError)
  })
})

const seconds = ({ reinstated_at }: { readonly reinstated_at: string }) =>
  Math.ceil(toMs(reinstated_at) / 1000)

const lastReinstated = (log: readonly TimedSaying[], n: number) =>
  Math.max(
    -1,
    ...log.flatMap(({ kind, body }) =>
      kind === 'user.reinstated' && body.ppid === user(n) ? [seconds(body)] : [],
    ),
  )

/** The result of `listAnswers`, for users at the times of `CREATED`. */
interface Answers {
  readonly credentials: readonly unknown[]
  readonly tokens: readonly unknown[]
  readonly users: readonly (readonly unknown[])[]
  readonly keyRevocations: readonly unknown[]
}

/** The same log with times one second apart, as a service writes them. */
function inOrder(log: readonly TimedSaying[]): TimedSaying[] {
  return log.map((saying, n) => {
    const times = ['at', 'revoked_at', 'reinstated_at']
      .filter((name) => name in saying.body)
      .map((name) => [name, at(n)])
    return { ...saying, at: at(n), body: { ...saying.body, ...Object.fromEntries(times) } } as TimedSaying
  })
}

function createRevocations(log: readonly TimedSaying[]): Revocations {
  const revocations = new Revocations(SEED)
  for (const { kind, body } of log) {
    if (kind === 'user.revoked') revocations.revokeUser(body.ppid, toMs(body.revoked_at))
    if (kind === 'user.reinstated') revocations.reinstateUser(body.ppid, toMs(body.reinstated_at))
  }
  return revocations
}

/** A view of this log, with a proof of its head. */
async function proven(sayings: readonly Saying[]): Promise<SiteView> {
  const view = new SiteView({ siteId: SITE, seed: SEED })
  for (const entry of await createLog(sayings)) view.apply(entry)
  prove(view, msAt(0))
  expect(view.provenHead).toEqual(createView(await createLog(sayings)).head)
  return view
}

function prove(view: SiteView, asOfMs: number) {
  const proof = { siteId: SITE, ...view.head, asOfMs, maxAgeSeconds: 60 }
  expect(view.confirmHead(proof, { wallMs: asOfMs, monotonicMs: 0 })).toBe('proven')
}

const statement = (from: string, to: string): EpochStatement => ({
  site_id: SITE,
  epoch: to,
  previous: { epoch: from, seq: 1, hash: token(1) },
  at: at(0),
  kid: 'feed-1',
  signature: 'A'.repeat(86),
})

/** Loads a snapshot of another epoch into the view. */
function follow(
  view: SiteView,
  epoch: string,
  sayings: readonly Saying[],
  epochs = [statement(EPOCH, NEXT), statement(NEXT, LAST)],
  asOfMs = AS_OF_MS,
) {
  const plain = new PlainSite()
  for (const saying of sayings) plain.say({ at: at(0), ...saying } as TimedSaying)
  const place: LogHead = { epoch, seq: sayings.length, hash: token(sayings.length) }
  const head: SnapshotHead = {
    ...plain.snapshotHead(place.seq, place.hash),
    epoch,
    as_of: new Date(asOfMs).toISOString(),
  }
  const load = view.beginLoad(head)
  for (const line of plain.snapshotLines() as SnapshotLine[]) load.add(line)
  const proof = { siteId: SITE, ...place, asOfMs, maxAgeSeconds: 60 }
  const loaded = load.commit(proof, { epochs, hasProvenEntry: true })
  // A second snapshot with the same time proves nothing new.
  if (loaded === 'loaded')
    expect(['proven', 'outdated']).toContain(view.confirmHead(proof, { wallMs: asOfMs, monotonicMs: 0 }))
  return loaded
}
