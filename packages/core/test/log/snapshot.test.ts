import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CheckedEntry } from '../../src/log/chain.ts'
import type { ConfirmedHead } from '../../src/log/freshness.ts'
import {
  COMPROMISED_KEYS_MAX,
  parseSnapshotLine,
  type SnapshotHead,
  type SnapshotLine,
} from '../../src/log/snapshot.ts'
import { type LoadEvidence, SiteView } from '../../src/log/view.ts'
import { runs } from '../runs.ts'
import {
  activeKey,
  at,
  createLog,
  createView,
  credential,
  EPOCH,
  issuer,
  msAt,
  multikey,
  OTHER_SITE,
  revocations,
  SEED,
  SITE,
  token,
  user,
} from './log-sample.ts'
import { PlainSite } from './plain-site.ts'
import { anyLog, issuerLog, listAnswers } from './random-log.ts'

const HEAD: SnapshotHead = {
  type: 'head',
  site_id: SITE,
  epoch: EPOCH,
  seq: 7,
  hash: token(7),
  as_of: at(0),
  max_age_seconds: 60,
  base: { seq: 3, hash: token(3) },
}
const SITE_LINE = {
  type: 'site',
  bearer: 'on',
  holder_proof: 'optional',
  delegation: 'on',
  credential_ttl_seconds_max: null,
} as const
const ISSUER_LINE = {
  type: 'issuer',
  issuer: issuer(1),
  status: 'trusted',
  keys: [activeKey('key-1', 1)],
  scope: null,
  credential_ttl_seconds_max: null,
  compromised: [{ key_id: 'key-0', key: null, at: at(0) }],
} as const
const GOOD_LINES = [
  HEAD,
  SITE_LINE,
  ISSUER_LINE,
  { ...ISSUER_LINE, status: 'distrusted', distrusted_at: at(1) },
  { ...ISSUER_LINE, status: 'distrusted', distrusted_at: null, keys: [] },
  { ...SITE_LINE, bearer_off_at: at(4) },
  { type: 'user', ppid: user(1), revoked_at: at(1) },
  { type: 'user', ppid: user(1), revoked_at: at(1), reinstated_at: at(2) },
  { type: 'user', ppid: user(1), revoked_at: at(1), reinstated_at: at(2), revoked_again_at: at(3) },
  {
    type: 'epoch',
    site_id: SITE,
    epoch: EPOCH,
    previous: { epoch: 'fedcba9876543210', seq: 3, hash: token(3) },
    at: at(0),
    kid: 'feed-1',
    signature: 'A'.repeat(86),
  },
  { type: 'credential', credential_id: credential(1), revoked_at: at(1) },
  { type: 'token', token_sha256: token(1), revoked_at: at(1) },
  { type: 'page', from_seq: 1, to_seq: 7, lines: 0, sha256: token(8) },
  { type: 'users', since: at(1), ids: [user(1), user(1)], ms: [0, 1] },
  { type: 'credentials', since: at(1), ids: [credential(1)], ms: [1] },
  { type: 'tokens', since: at(1), ids: [token(1)], ms: [1] },
  { type: 'end', lines: 9, sha256: token(9), kid: 'feed-1', signature: 'A'.repeat(86) },
] as const

/** The result of `checkSnapshot` for a snapshot with this head. */
const toProof = ({ site_id, epoch, seq, hash, as_of, max_age_seconds }: SnapshotHead): ConfirmedHead => ({
  siteId: site_id,
  epoch,
  seq,
  hash,
  asOfMs: Date.parse(as_of),
  maxAgeSeconds: max_age_seconds,
})

/** Loads the snapshot, or returns why not. */
function load(view: SiteView, head: SnapshotHead, lines: readonly SnapshotLine[], evidence?: LoadEvidence) {
  const loading = view.beginLoad(head)
  for (const line of lines) loading.add(line)
  return loading.commit(toProof(head), evidence)
}

describe('parseSnapshotLine', () => {
  test.each(GOOD_LINES)('takes $type', (line) => {
    expect(parseSnapshotLine(structuredClone(line))).toEqual(line)
  })

  test.each(GOOD_LINES)('rejects $type with a member more, less, or of another form', (line) => {
    const members = line as unknown as Record<string, unknown>
    expect(parseSnapshotLine({ ...members, reason: 'because' })).toBeUndefined()
    for (const member of Object.keys(members)) {
      const { [member]: _, ...rest } = members
      // A user line without its last member is another valid line.
      const isShorterUser =
        line.type === 'user' && member === Object.keys(line).at(-1) && Object.keys(line).length > 3
      const isOptional = isShorterUser || member === 'bearer_off_at'
      expect(parseSnapshotLine(rest) !== undefined, `without ${member}`).toBe(isOptional)
      for (const other of [-1, true, '', {}, [[]]])
        expect(parseSnapshotLine({ ...rest, [member]: other }), `${member}: ${other}`).toBeUndefined()
    }
  })

  test.each([
    ['a type it does not know', { type: 'group' }],
    ['a trusted issuer that was distrusted', { ...ISSUER_LINE, distrusted_at: at(1) }],
    ['a distrusted issuer without a time', { ...ISSUER_LINE, status: 'distrusted' }],
    [
      'a user revoked again without reinstatement',
      { type: 'user', ppid: user(1), revoked_at: at(1), revoked_again_at: at(3) },
    ],
    ['a bearer_off_at that is no time', { ...SITE_LINE, bearer_off_at: 'once' }],
    ['a bearer_off_at that is nothing', { ...SITE_LINE, bearer_off_at: null }],
    [
      'a compromised key that is no key',
      { ...ISSUER_LINE, compromised: [{ key_id: 'key-0', key: 'z6', at: at(0) }] },
    ],
    [
      'too many compromised keys',
      { ...ISSUER_LINE, compromised: Array(COMPROMISED_KEYS_MAX + 1).fill(ISSUER_LINE.compromised[0]) },
    ],
    ['a list', []],
    ['nothing', undefined],
  ])('rejects %s', (_, line) => {
    expect(parseSnapshotLine(line)).toBeUndefined()
  })

  test('never throws, for any input', () => {
    const types = fc.constantFrom(...GOOD_LINES.map(({ type }) => type))
    fc.assert(
      fc.property(fc.anything(), types, fc.dictionary(fc.string(), fc.anything()), (value, type, members) => {
        parseSnapshotLine(value)
        parseSnapshotLine({ ...members, type })
      }),
    )
  })
})

describe('loading a snapshot', () => {
  test('and then the rest of the log gives the same answers as the whole log', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyLog, issuerLog), fc.nat(40), async (sayings, cut) => {
        const all = [{ kind: 'site.changed' as const, body: SITE_STATE, at: at(0) }, ...sayings]
        const entries = await createLog(all)
        const done = Math.min(cut, sayings.length) + 1
        const plain = new PlainSite()
        for (const saying of all.slice(0, done)) plain.say(saying)
        const lines = plain.snapshotLines()
        for (const line of lines) expect(parseSnapshotLine(line)).toEqual(line)

        const view = new SiteView({ siteId: SITE })
        expect(load(view, plain.snapshotHead(done, entries[done - 1]?.hash), lines)).toBe('loaded')
        expect(listAnswers(view)).toEqual(listAnswers(createView(entries.slice(0, done))))
        for (const entry of entries.slice(done)) expect(view.apply(entry)).toBe('applied')
        expect(prove(view)).toBe('proven')
        expect(view.head).toEqual(createView(entries).head)
        expect(listAnswers(view)).toEqual(listAnswers(createView(entries)))
      }),
      { numRuns: runs(200) },
    )
  })

  test('is not committed with the proof of another head', () => {
    for (const other of [{ seq: 8 }, { hash: token(8) }, { epoch: 'otherepoch' }]) {
      const view = new SiteView({ siteId: SITE, seed: SEED })
      const loading = view.beginLoad(HEAD)
      loading.add(SITE_LINE)
      expect(() => loading.commit({ ...toProof(HEAD), ...other })).toThrow(TypeError)
      expect(view.head.seq).toBe(0)
    }
  })

  test('does not go back behind a proven head, also when the view has been contradicted', () => {
    const view = new SiteView({ siteId: SITE, seed: SEED })
    load(view, HEAD, [SITE_LINE, { type: 'credential', credential_id: credential(1), revoked_at: at(1) }])
    const older = { ...HEAD, seq: HEAD.seq - 1, hash: token(6) }
    expect(load(view, older, [SITE_LINE])).toBe('lower_head')
    expect(view.credentialRevocation(credential(1))).toBeDefined()
    view.confirmHead({ ...toProof(HEAD), hash: token(8) }, { wallMs: Date.parse(HEAD.as_of), monotonicMs: 0 })
    expect(view.fault).toBe('fork')
    expect(load(view, older, [SITE_LINE])).toBe('lower_head')
    expect(load(view, HEAD, [SITE_LINE])).toBe('loaded')
  })

  test('changes nothing until it is committed, and then everything at once', () => {
    const view = new SiteView({ siteId: SITE, seed: SEED })
    const loading = view.beginLoad(HEAD)
    loading.add(SITE_LINE)
    loading.add({ type: 'credential', credential_id: credential(1), revoked_at: at(1) })
    expect(view.credentialRevocation(credential(1))).toBeUndefined()
    expect(view.head.seq).toBe(0)
    expect(loading.commit(toProof(HEAD))).toBe('loaded')
    expect(view.credentialRevocation(credential(1))).toEqual({ by: 'credential', sinceMs: msAt(1) })
    expect(view.head).toEqual({ epoch: EPOCH, seq: 7, hash: token(7) })
    expect(() => loading.add(SITE_LINE)).toThrow(TypeError)
    expect(() => loading.commit(toProof(HEAD))).toThrow(TypeError)
  })

  test('restores trust in a view that had lost it, but only a newer proof makes it younger', async () => {
    const entries = await createLog(revocations(4))
    const view = createView(entries.slice(0, 2))
    const clocks = { wallMs: msAt(0), monotonicMs: 0 }
    view.confirmHead({ siteId: SITE, ...view.head, asOfMs: msAt(0), maxAgeSeconds: 60 }, clocks)
    expect(view.apply(entries[3] as CheckedEntry)).toBe('hole')
    expect(load(view, HEAD, [SITE_LINE], { hasProvenEntry: true })).toBe('loaded')
    expect(view).toMatchObject({ trusted: true, fault: undefined })
    // 20 s later the wall clock was set back, and the snapshot is as old as the first proof or
    // older.
    const later = { wallMs: msAt(-100), monotonicMs: 20_000 }
    const prove = (asOfMs: number) =>
      view.confirmHead({ siteId: SITE, ...view.head, asOfMs, maxAgeSeconds: 60 }, later)
    expect(view.ageMs(later)).toBe(20_000)
    for (const seconds of [-100, 0]) expect(prove(msAt(seconds))).not.toBe('proven')
    expect(view.ageMs(later)).toBe(20_000)
    later.wallMs = msAt(20)
    expect(prove(msAt(20))).toBe('proven')
    expect(view.ageMs(later)).toBe(0)
  })

  test.each([
    ['of another site', 'other_site', { ...HEAD, site_id: OTHER_SITE }, [SITE_LINE]],
    ['from before what is known', 'lower_head', { ...HEAD, seq: 1 }, [SITE_LINE]],
    ['that ends otherwise where we are', 'fork', { ...HEAD, seq: 2 }, [SITE_LINE]],
    ['that says nothing of the site', 'incomplete', HEAD, []],
    [
      'of which nothing shows that it extends the proven head',
      'unlinked_head',
      { ...HEAD, base: { seq: 1, hash: token(1) } },
      [SITE_LINE],
    ],
    [
      'whose base is another entry than the proven one',
      'fork',
      { ...HEAD, base: { seq: 2, hash: token(2) } },
      [SITE_LINE],
    ],
    [
      'of another epoch that no statement leads to',
      'unlinked_epoch',
      { ...HEAD, epoch: 'fedcba9876543210' },
      [SITE_LINE],
    ],
  ] as const)('rejects one %s and leaves all as it was', async (_, outcome, head, lines) => {
    const entries = await createLog(revocations(2))
    const view = createView(entries)
    view.confirmHead(
      { siteId: SITE, ...view.head, asOfMs: msAt(0), maxAgeSeconds: 60 },
      { wallMs: msAt(0), monotonicMs: 0 },
    )
    expect(load(view, head, lines, { hasProvenEntry: outcome === 'incomplete' })).toBe(outcome)
    expect(view.head.seq).toBe(2)
    expect(view.credentialRevocation(credential(1))).toBeDefined()
    expect(view.apply(entries[1] as CheckedEntry)).toBe('known')
  })

  test('needs no other evidence when the base is the proven entry, or after it', async () => {
    for (const [base, carried] of [
      [undefined, 2],
      [{ seq: 3, hash: token(3) }, 2],
    ] as const) {
      const view = createView(await createLog(revocations(2)))
      const head = { ...HEAD, base: base ?? { seq: 2, hash: view.head.hash } }
      expect(load(view, head, [SITE_LINE])).toBe('loaded')
      // What the snapshot lacks stays revoked in both cases.
      expect(view.carriedRevocationCount).toBe(carried)
      expect(view.credentialRevocation(credential(1))).toBeDefined()
    }
  })

  test('A256 replaces entries that were never proven, contradicted or not', async () => {
    const entries = await createLog(revocations(9))
    for (const isContradicted of [false, true]) {
      const view = new SiteView({ siteId: SITE, seed: SEED })
      const proven = { ...HEAD, hash: entries[6]?.hash ?? '' }
      load(view, proven, [SITE_LINE])
      for (const entry of entries.slice(7)) expect(view.apply(entry)).toBe('applied')
      expect(view.credentialRevocation(credential(8))).toBeDefined()
      if (isContradicted)
        view.confirmHead(toProof(proven), { wallMs: Date.parse(HEAD.as_of), monotonicMs: 0 })
      expect(view.fault).toBe(isContradicted ? 'lower_head' : undefined)
      expect(load(view, proven, [SITE_LINE])).toBe('loaded')
      expect(view.head.seq).toBe(7)
      expect(view.credentialRevocation(credential(8))).toBeUndefined()
    }
  })

  test.each([
    ['that it lists', [activeKey('key-1', 1)]],
    ['that it no longer lists', []],
  ])('keeps the compromised keys of a distrusted issuer %s', async (_, keys) => {
    const view = new SiteView({ siteId: SITE })
    const compromised = [{ key_id: 'key-1', key: multikey(1), at: at(3) }]
    load(view, HEAD, [
      SITE_LINE,
      { ...ISSUER_LINE, status: 'distrusted', distrusted_at: at(5), keys, compromised },
    ])
    expect(view.issuer(issuer(1))).toBeUndefined()
    expect(view.issuerRevocation(issuer(1))).toEqual({ by: 'issuer', sinceMs: msAt(5) })
    await trustUnderNewName(view)
    expect(view.issuer(issuer(1))?.keys.get(`${issuer(1)}#new-name`)).toMatchObject({
      status: 'compromised',
      changedAtMs: msAt(3),
    })
  })

  test('remembers what a distrusted issuer listed, in case it turns out compromised', async () => {
    const view = new SiteView({ siteId: SITE })
    load(view, HEAD, [SITE_LINE, { ...ISSUER_LINE, status: 'distrusted', distrusted_at: at(5) }])
    const body = { issuer: issuer(1), key_id: 'key-1', at: at(6) }
    for (const entry of await createLog([{ kind: 'key.compromised', body }], view.head)) view.apply(entry)
    await trustUnderNewName(view)
    expect(view.issuer(issuer(1))?.keys.get(`${issuer(1)}#new-name`)).toMatchObject({
      status: 'compromised',
      changedAtMs: msAt(6),
    })
  })

  test('does not make an issuer trusted of which only compromised keys were ever heard', () => {
    const view = new SiteView({ siteId: SITE })
    load(view, HEAD, [SITE_LINE, { ...ISSUER_LINE, status: 'distrusted', distrusted_at: null }])
    expect(view.issuer(issuer(1))).toBeUndefined()
    expect(view.issuerRevocation(issuer(1))).toBeUndefined()
    expect(view.keyRevocation(issuer(1), 'key-0')).toEqual({ by: 'key', sinceMs: msAt(0) })
  })

  test('holds a key for compromised that a line calls so without a row of its own', () => {
    const view = new SiteView({ siteId: SITE })
    load(view, HEAD, [
      SITE_LINE,
      { ...ISSUER_LINE, keys: [{ ...activeKey('key-1', 1), status: 'compromised' }], compromised: [] },
    ])
    expect(view.issuer(issuer(1))?.keys.get(`${issuer(1)}#key-1`)).toMatchObject({
      status: 'compromised',
      changedAtMs: msAt(0),
    })
    expect(view.keyRevocation(issuer(1), 'key-1')).toBeDefined()
  })
})

const SITE_STATE = {
  bearer: 'on',
  holder_proof: 'optional',
  delegation: 'on',
  credential_ttl_seconds_max: null,
} as const

/** The first key of the issuer is listed again under another name. */
async function trustUnderNewName(view: SiteView): Promise<void> {
  const body = {
    issuer: issuer(1),
    keys: [activeKey('new-name', 1)],
    scope: null,
    credential_ttl_seconds_max: null,
  }
  for (const entry of await createLog([{ kind: 'issuer.trusted', body }], view.head))
    expect(view.apply(entry)).toBe('applied')
  expect(prove(view)).toBe('proven')
}

function prove(view: SiteView) {
  return view.confirmHead(
    { siteId: SITE, ...view.head, asOfMs: msAt(0), maxAgeSeconds: 60 },
    { wallMs: msAt(0), monotonicMs: 0 },
  )
}
