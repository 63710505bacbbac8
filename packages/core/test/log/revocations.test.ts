import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SiteView } from '../../src/log/view.ts'
import { runs } from '../runs.ts'
import {
  at,
  createLog,
  createView,
  credential,
  msAt,
  NOW,
  type Saying,
  SITE,
  token,
  user,
  viewAfter,
} from './log-sample.ts'
import { PlainSite } from './plain-site.ts'
import { anyLog, CREATED, FEW, userLog } from './random-log.ts'

const revoked = (seconds: number, n = 1): Saying => ({
  kind: 'user.revoked',
  body: { ppid: user(n), revoked_at: at(seconds) },
})
const reinstated = (seconds: number, n = 1): Saying => ({
  kind: 'user.reinstated',
  body: { ppid: user(n), reinstated_at: at(seconds) },
})

describe('the revocation of a user', () => {
  test('covers every credential of that user, also those signed later', async () => {
    const view = await viewAfter(revoked(10))
    for (const seconds of [-1000, 10, 1000])
      expect(view.userRevocation(user(1), msAt(seconds))).toEqual({ by: 'user', sinceMs: msAt(10) })
    expect(view.userRevocation(user(2), msAt(0))).toBeUndefined()
  })

  test('ends with a reinstatement for what is signed after it, never for what was signed up to it', async () => {
    const view = await viewAfter(revoked(10), reinstated(20))
    expect(view.userRevocation(user(1), msAt(0))).toEqual({ by: 'user', sinceMs: msAt(10) })
    expect(view.userRevocation(user(1), msAt(20))).toEqual({ by: 'user', sinceMs: msAt(10) })
    expect(view.userRevocation(user(1), msAt(20) + 1)).toBeUndefined()
  })

  test('counts the second in which a reinstatement falls as the past', async () => {
    const view = await viewAfter(revoked(10), reinstated(20.001))
    expect(view.userRevocation(user(1), msAt(20.9))).toBeDefined()
    expect(view.userRevocation(user(1), msAt(21))).toBeDefined()
    expect(view.userRevocation(user(1), msAt(21) + 1)).toBeUndefined()
  })

  test('begins again for a user who was reinstated, since then for what is new and since ever for what is old', async () => {
    const view = await viewAfter(revoked(10), reinstated(20), revoked(30))
    expect(view.userRevocation(user(1), msAt(15))).toEqual({ by: 'user', sinceMs: msAt(10) })
    expect(view.userRevocation(user(1), msAt(25))).toEqual({ by: 'user', sinceMs: msAt(30) })
    expect(view.userRevocation(user(1), msAt(99))).toEqual({ by: 'user', sinceMs: msAt(30) })
  })

  test('is not shortened by a second reinstatement with an earlier time', async () => {
    const view = await viewAfter(revoked(10), reinstated(50), revoked(60), reinstated(20))
    expect(view.userRevocation(user(1), msAt(50))).toBeDefined()
    expect(view.userRevocation(user(1), msAt(51))).toBeUndefined()
  })

  test('counts a signature without a readable time as old', async () => {
    const view = await viewAfter(revoked(10), reinstated(20))
    expect(view.userRevocation(user(1), Number.NaN)).toBeDefined()
  })

  test('keeps the earliest time when it is said twice', async () => {
    expect(
      (await viewAfter(revoked(10), revoked(5), revoked(20))).userRevocation(user(1), msAt(0))?.sinceMs,
    ).toBe(msAt(5))
  })

  test('can lie before 1970', async () => {
    const view = await viewAfter({
      kind: 'user.revoked',
      body: { ppid: user(1), revoked_at: '1960-01-01T00:00:00Z' },
    })
    expect(view.userRevocation(user(1), msAt(0))).toEqual({ by: 'user', sinceMs: 0 })
  })
})

describe('the revocation of a credential or token', () => {
  test('is permanent and not touched by the reinstatement of its user', async () => {
    const view = await viewAfter(
      { kind: 'credential.revoked', body: { credential_id: credential(1), revoked_at: at(5) } },
      { kind: 'token.revoked', body: { token_sha256: token(1), revoked_at: at(6) } },
      revoked(10),
      reinstated(20),
    )
    expect(view.credentialRevocation(credential(1))).toEqual({ by: 'credential', sinceMs: msAt(5) })
    expect(view.tokenRevocation(token(1))).toEqual({ by: 'token', sinceMs: msAt(6) })
  })

  test('keeps the earliest time when it is said twice', async () => {
    const say = (seconds: number): Saying => ({
      kind: 'credential.revoked',
      body: { credential_id: credential(1), revoked_at: at(seconds) },
    })
    expect((await viewAfter(say(10), say(5), say(20))).credentialRevocation(credential(1))?.sinceMs).toBe(
      msAt(5),
    )
  })
})

describe('revocations only add up', () => {
  test('answers as the plain reading of the whole log does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyLog, userLog), async (sayings) => {
        const plain = new PlainSite()
        for (const saying of sayings) plain.say(saying)
        const view = createView(await createLog(sayings))
        for (const n of FEW) {
          expect(view.credentialRevocation(credential(n))?.sinceMs).toBe(plain.credentialSince(credential(n)))
          expect(view.tokenRevocation(token(n))?.sinceMs).toBe(plain.tokenSince(token(n)))
          for (const createdMs of CREATED)
            expect(view.userRevocation(user(n), createdMs)?.sinceMs).toBe(plain.userSince(user(n), createdMs))
        }
      }),
      { numRuns: runs(200) },
    )
  })

  test('never lets an entry take back what an earlier one revoked, except for what is signed after a reinstatement', {
    tags: 'long',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, async (sayings) => {
        const view = new SiteView({ siteId: SITE })
        let cutoffMs = [-1, -1, -1]
        for (const entry of await createLog(sayings)) {
          const before = answers()
          view.apply(entry)
          if (entry.kind === 'user.reinstated') {
            const reinstatedMs = Math.ceil(Date.parse(entry.body.reinstated_at) / 1000) * 1000
            cutoffMs = cutoffMs.map((known, n) =>
              user(n) === entry.body.ppid ? Math.max(known, reinstatedMs) : known,
            )
          }
          const after = answers()
          for (const name of before) {
            const [kind, n, createdMs] = name.split(' ')
            const isNewer = kind === 'user' && Number(createdMs) > (cutoffMs[Number(n)] as number)
            expect(
              after.has(name) || (isNewer && entry.kind === 'user.reinstated'),
              `${name} after ${entry.kind}`,
            ).toBe(true)
          }
        }

        function answers(): Set<string> {
          const names = new Set<string>()
          for (const n of FEW) {
            if (view.credentialRevocation(credential(n))) names.add(`credential ${n}`)
            if (view.tokenRevocation(token(n))) names.add(`token ${n}`)
            for (const createdMs of CREATED)
              if (view.userRevocation(user(n), createdMs)) names.add(`user ${n} ${createdMs}`)
          }
          return names
        }
      }),
    )
    expect(CREATED[0]).toBeLessThan(NOW)
  })
})
