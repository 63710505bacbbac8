import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  COMPROMISED_KEYS_MAX,
  type IssuerLine,
  parseSnapshotLine,
  type SnapshotHead,
} from '../../src/log/snapshot.ts'
import { toStateLines } from '../../src/log/state-lines.ts'
import { SiteView } from '../../src/log/view.ts'
import { runs } from '../runs.ts'
import {
  activeKey,
  at,
  createLog,
  createView,
  EPOCH,
  GENESIS,
  issuer,
  issuerState,
  type Saying,
  SITE,
} from './log-sample.ts'
import { issuerLog, listAnswers } from './random-log.ts'

const SITE_STATE: Saying = {
  kind: 'site.changed',
  body: { bearer: 'on', holder_proof: 'optional', delegation: 'on', credential_ttl_seconds_max: null },
}

/** A view that was loaded from only the lines of this view. */
function loadedFrom(view: SiteView): SiteView {
  const head: SnapshotHead = {
    type: 'head',
    site_id: SITE,
    ...view.head,
    as_of: at(100),
    max_age_seconds: 60,
    base: { seq: 0, hash: GENESIS },
  }
  const loaded = new SiteView({ siteId: SITE, entriesAreProven: true })
  const loading = loaded.beginLoad(head)
  for (const line of toStateLines(view)) {
    const read = parseSnapshotLine(JSON.parse(JSON.stringify(line)))
    expect(read).toEqual(line)
    if (read?.type === 'site' || read?.type === 'issuer') loading.add(read)
  }
  const { epoch, seq, hash } = view.head
  expect(loading.commit({ siteId: SITE, epoch, seq, hash, asOfMs: 0, maxAgeSeconds: 60 })).toBe('loaded')
  return loaded
}

describe('the lines that a view writes of itself', () => {
  test('make another view that answers alike about the site and its issuers, now and after the rest of the log', async () => {
    await fc.assert(
      fc.asyncProperty(issuerLog, fc.nat(40), async (sayings, cut) => {
        const entries = await createLog([SITE_STATE, ...sayings])
        const done = Math.min(cut, sayings.length) + 1
        const view = createView(entries.slice(0, done))
        const loaded = loadedFrom(view)
        expect(listAnswers(loaded)).toEqual(listAnswers(view))
        for (const entry of entries.slice(done)) expect(loaded.apply(entry)).toBe('applied')
        expect(listAnswers(loaded)).toEqual(listAnswers(createView(entries)))
      }),
      { numRuns: runs(500) },
    )
  })

  test('say until when bearer tokens were off, also when they are on again', async () => {
    const off = {
      bearer: 'off',
      holder_proof: 'required',
      delegation: 'on',
      credential_ttl_seconds_max: 60,
    } as const
    const entries = await createLog([
      SITE_STATE,
      { kind: 'site.changed', body: off, at: at(5) },
      { ...SITE_STATE, at: at(9) },
    ])
    expect(toStateLines(createView(entries.slice(0, 1)))).toEqual([{ type: 'site', ...SITE_STATE.body }])
    expect(toStateLines(createView(entries.slice(0, 2)))).toEqual([
      { type: 'site', ...off, bearer_off_at: at(5) },
    ])
    expect(toStateLines(createView(entries))).toEqual([
      { type: 'site', ...SITE_STATE.body, bearer_off_at: at(9) },
    ])
  })

  test('are several for an issuer with more compromised keys than a line may have', async () => {
    const many = COMPROMISED_KEYS_MAX + 1
    const compromised = Array.from({ length: many }, (_, i): Saying => {
      return { kind: 'key.compromised', body: { issuer: issuer(1), key_id: `key-${i}`, at: at(3) } }
    })
    const trusted: Saying = { kind: 'issuer.trusted', body: issuerState(1, [activeKey('key-7', 1)]) }
    const view = createView(
      await createLog([SITE_STATE, trusted, ...compromised], { epoch: EPOCH, seq: 0, hash: '0'.repeat(64) }),
    )
    const lines = toStateLines(view).filter((line): line is IssuerLine => line.type === 'issuer')
    expect(lines.map((line) => line.compromised.length)).toEqual([COMPROMISED_KEYS_MAX, 1])
    const loaded = loadedFrom(view)
    for (let i = 0; i < many; i++) expect(loaded.keyRevocation(issuer(1), `key-${i}`)).toBeDefined()
    expect(loaded.issuer(issuer(1))?.keys.size).toBe(1)
  })
})
