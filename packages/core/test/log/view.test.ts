import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CheckedEntry } from '../../src/log/chain.ts'
import { entryHash } from '../../src/log/chain.ts'
import type { Entry } from '../../src/log/entry.ts'
import { SiteView, type ViewFault } from '../../src/log/view.ts'
import {
  at,
  BODIES,
  checked,
  createLog,
  createView,
  credential,
  EPOCH,
  GENESIS,
  issuer,
  msAt,
  OTHER_SITE,
  revocations,
  type Saying,
  SITE,
  toHead,
  token,
  user,
  viewAfter,
} from './log-sample.ts'
import { anyLog, listAnswers } from './random-log.ts'

const CLOCKS = { wallMs: msAt(0), monotonicMs: 1000 }
const resealed = async (entry: Entry, changes: Partial<Entry>) => {
  const changed = { ...entry, ...changes } as Entry
  return checked({ ...changed, hash: await entryHash(changed) } as Entry)
}

describe('a view at the beginning', () => {
  test('trusts no issuer, has revoked nothing and is infinitely old', () => {
    const view = new SiteView({ siteId: SITE })
    expect(view.head).toEqual({ epoch: '', seq: 0, hash: GENESIS })
    expect(view.trusted).toBe(true)
    expect(view.issuer(issuer(1))).toBeUndefined()
    expect(view.credentialRevocation(credential(1))).toBeUndefined()
    expect(view.userRevocation(user(1), msAt(0))).toBeUndefined()
    expect(view.tokenRevocation(token(1))).toBeUndefined()
    expect(view.ageMs(CLOCKS)).toBe(Infinity)
  })

  test('is as strict as a site can be until the log says otherwise', async () => {
    expect(new SiteView({ siteId: SITE }).settings).toEqual({
      bearer: 'off',
      holderProof: 'required',
      delegation: 'off',
      credentialTtlSecondsMax: undefined,
    })
    const view = await viewAfter({
      kind: 'site.changed',
      body: { bearer: 'on', holder_proof: 'optional', delegation: 'on', credential_ttl_seconds_max: 60 },
    })
    expect(view.settings).toEqual({
      bearer: 'on',
      holderProof: 'optional',
      delegation: 'on',
      credentialTtlSecondsMax: 60,
    })
  })

  test('remembers when bearer tokens were last off, whatever is said later and in whichever order the times come', async () => {
    const switched = (bearer: 'on' | 'off', seconds: number): Saying => ({
      kind: 'site.changed',
      body: { bearer, holder_proof: 'optional', delegation: 'on', credential_ttl_seconds_max: null },
      at: at(seconds),
    })
    expect((await viewAfter(switched('on', 1))).settings.bearerOffMs).toBeUndefined()
    expect(
      (await viewAfter(switched('on', 1), switched('off', 5), switched('on', 9))).settings,
    ).toMatchObject({
      bearer: 'on',
      bearerOffMs: msAt(9),
    })
    const again = [switched('off', 5), switched('on', 9), switched('on', 12)]
    expect((await viewAfter(...again)).settings.bearerOffMs).toBe(msAt(9))
    expect(
      (await viewAfter(switched('off', 7), switched('off', 3), switched('on', 6))).settings.bearerOffMs,
    ).toBe(msAt(7))
  })
})

describe('apply', () => {
  test('follows a log and knows how far it has come', async () => {
    const entries = await createLog(revocations(5))
    const view = createView(entries)
    expect(view.head).toEqual(toHead(entries[4] as Entry))
    expect(view.revocationCount).toBe(5)
    expect(view.credentialRevocation(credential(3))).toEqual({ by: 'credential', sinceMs: msAt(3) })
    expect(view.credentialRevocation(credential(5))).toBeUndefined()
  })

  test('knows an entry that comes again and changes nothing', async () => {
    const entries = await createLog(revocations(5))
    const view = createView(entries)
    const before = listAnswers(view)
    for (const entry of entries) expect(view.apply(entry)).toBe('known')
    expect(listAnswers(view)).toEqual(before)
    expect(view.head.seq).toBe(5)
    expect(view.trusted).toBe(true)
  })

  const spoiled: [ViewFault, (entries: CheckedEntry[]) => Promise<CheckedEntry> | CheckedEntry][] = [
    ['hole', (entries) => entries[4] as CheckedEntry],
    ['wrong_hash', (entries) => resealed(entries[3] as Entry, { prev_hash: token(1) })],
    ['other_epoch', (entries) => resealed(entries[3] as Entry, { epoch: 'fedcba9876543210' })],
    ['other_site', (entries) => resealed(entries[3] as Entry, { site_id: OTHER_SITE })],
    ['fork', (entries) => resealed(entries[2] as Entry, { at: at(99) })],
  ]
  test.each(spoiled)(
    'meets a %s, applies nothing and distrusts itself from then on',
    async (fault, spoil) => {
      const entries = await createLog(revocations(6))
      const view = createView(entries.slice(0, 3))
      prove(view)
      expect(view.ageMs(CLOCKS)).toBe(0)
      const before = listAnswers(view)

      expect(view.apply(await spoil(entries))).toBe(fault)
      expect(view).toMatchObject({ trusted: false, fault, head: toHead(entries[2] as Entry) })
      expect(view.ageMs(CLOCKS)).toBe(Infinity)
      // From now on, neither a correct entry nor a proof is accepted.
      expect(view.apply(entries[3] as CheckedEntry)).toBe(fault)
      expect(prove(view)).toBe(fault)
      expect(view.ageMs(CLOCKS)).toBe(Infinity)
      expect(listAnswers(view)).toEqual(before)
    },
  )

  test('does not take the first entry of a log for its beginning when it is not', async () => {
    const entries = await createLog(revocations(3))
    const view = new SiteView({ siteId: SITE })
    expect(view.apply(entries[1] as CheckedEntry)).toBe('hole')
    const forged = new SiteView({ siteId: SITE })
    expect(forged.apply(await resealed(entries[0] as Entry, { prev_hash: token(1) }))).toBe('wrong_hash')
  })

  test('gives the same answers however often and from wherever entries are delivered again', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyLog,
        fc.array(fc.tuple(fc.nat(40), fc.nat(40)), { maxLength: 10 }),
        async (sayings, replays) => {
          const entries = await createLog(sayings)
          const view = new SiteView({ siteId: SITE, seed: [7, 7], entriesAreProven: true })
          // Each replay starts at an entry that was already applied and ends at a later one.
          for (const [from, more] of [...replays, [entries.length, entries.length] as const]) {
            const start = Math.min(from, view.head.seq)
            for (const entry of entries.slice(start, view.head.seq + more))
              expect(['applied', 'known']).toContain(view.apply(entry))
          }
          expect(view.head.seq).toBe(entries.length)
          expect(listAnswers(view)).toEqual(listAnswers(createView(entries)))
        },
      ),
    )
  })

  test('throws rather than skip an entry of a kind that came past the types', async () => {
    const [entry] = (await createLog([{ kind: 'user.revoked', body: BODIES['user.revoked'] }])) as [
      CheckedEntry,
    ]
    const view = new SiteView({ siteId: SITE })
    expect(() => view.apply({ ...entry, kind: 'user.renamed' } as never)).toThrow(TypeError)
    expect(view.head.seq).toBe(0)
  })
})

describe('confirmHead', () => {
  test('makes the view as old as the proof, and no younger with time', async () => {
    const view = await viewAfter(...revocations(3))
    expect(view.confirmHead(toProof(view, -2), CLOCKS)).toBe('proven')
    expect(view.ageMs(CLOCKS)).toBe(2000)
    expect(view.ageMs({ wallMs: msAt(5), monotonicMs: 6000 })).toBe(7000)
  })

  test('proves nothing to a view that is behind, which grows older', async () => {
    const entries = await createLog(revocations(3))
    const view = createView(entries.slice(0, 2))
    const ahead = { ...toProof(createView(entries)), asOfMs: msAt(0) }
    expect(view.confirmHead(ahead, CLOCKS)).toBe('behind')
    expect(view.ageMs(CLOCKS)).toBe(Infinity)
    expect(view.trusted).toBe(true)
    view.apply(entries[2] as CheckedEntry)
    expect(view.confirmHead(ahead, CLOCKS)).toBe('proven')
  })

  test.each([
    ['other_site', { siteId: OTHER_SITE }],
    ['other_epoch', { epoch: 'fedcba9876543210' }],
    ['fork', { hash: token(1) }],
    ['lower_head', { seq: 2, hash: token(1), asOfMs: msAt(1) }],
  ] as const)('finds a %s', async (fault, changes) => {
    const view = await viewAfter(...revocations(3))
    expect(prove(view)).toBe('proven')
    expect(view.confirmHead({ ...toProof(view, 1), ...changes }, CLOCKS)).toBe(fault)
    expect(view).toMatchObject({ trusted: false, fault })
    expect(view.ageMs(CLOCKS)).toBe(Infinity)
  })

  test('does not mind news of a lower head that is older than what is proven', async () => {
    const entries = await createLog(revocations(3))
    const view = createView(entries)
    const late = { ...toProof(createView(entries.slice(0, 2))), asOfMs: msAt(-1) }
    prove(view)
    expect(view.confirmHead(late, { wallMs: msAt(3), monotonicMs: 4000 })).toBe('outdated')
    expect(view.trusted).toBe(true)
    expect(view.ageMs({ wallMs: msAt(3), monotonicMs: 4000 })).toBe(3000)
  })

  test('takes a time up to five seconds ahead and rejects one further off, which moves nothing', async () => {
    const view = await viewAfter(...revocations(1))
    expect(view.confirmHead(toProof(view, 5.001), CLOCKS)).toBe('too_early')
    expect(view.confirmHead({ ...toProof(view), asOfMs: Number.NaN }, CLOCKS)).toBe('too_early')
    expect(view.ageMs(CLOCKS)).toBe(Infinity)
    expect(view.confirmHead(toProof(view, 5), CLOCKS)).toBe('proven')
    expect(view.ageMs(CLOCKS)).toBe(0)
  })

  test('can prove a log that has not begun, and then holds it to that epoch', async () => {
    const view = new SiteView({ siteId: SITE })
    expect(
      view.confirmHead(
        { siteId: SITE, epoch: EPOCH, seq: 0, hash: GENESIS, asOfMs: msAt(0), maxAgeSeconds: 60 },
        CLOCKS,
      ),
    ).toBe('proven')
    expect(view.head.epoch).toBe(EPOCH)
    const [elsewhere] = (await createLog(revocations(1), {
      epoch: 'fedcba9876543210',
      seq: 0,
      hash: GENESIS,
    })) as [CheckedEntry]
    expect(view.apply(elsewhere)).toBe('other_epoch')
  })

  test('is not moved by entries: they prove nothing about time', async () => {
    const entries = await createLog(revocations(3))
    const view = createView(entries.slice(0, 2))
    prove(view)
    view.apply(entries[2] as CheckedEntry)
    expect(view.ageMs({ wallMs: msAt(9), monotonicMs: 10_000 })).toBe(9000)
  })
})

function toProof(view: SiteView, seconds = 0) {
  return { siteId: SITE, ...view.head, asOfMs: msAt(seconds), maxAgeSeconds: 60 }
}

function prove(view: SiteView) {
  return view.confirmHead(toProof(view), CLOCKS)
}
