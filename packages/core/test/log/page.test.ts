import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CheckedEntry } from '../../src/log/chain.ts'
import { PACK_IDS_MAX, type PackLine } from '../../src/log/packs.ts'
import { PagePacker, readPageLines } from '../../src/log/page.ts'
import { beginRestore } from '../../src/log/restore-view.ts'
import { toRevocationLine } from '../../src/log/revocation-line.ts'
import { parseSnapshotLine, type RevocationLine } from '../../src/log/snapshot.ts'
import { toStateLines } from '../../src/log/state-lines.ts'
import type { SiteView } from '../../src/log/view.ts'
import { runs } from '../runs.ts'
import {
  at,
  BODIES,
  createLog,
  createView,
  credential,
  msAt,
  SEED,
  SITE,
  thumbprint,
  token,
  user,
} from './log-sample.ts'
import { anyLog, listAnswers, userLog } from './random-log.ts'

const SITE_CHANGED = { kind: 'site.changed', body: BODIES['site.changed'], at: at(0) } as const
const credentialLine = (n: number, seconds = n): RevocationLine => ({
  type: 'credential',
  credential_id: credential(n),
  revoked_at: at(seconds),
})

function pack(lines: Iterable<RevocationLine>) {
  const packer = new PagePacker()
  for (const line of lines) packer.add(line)
  return packer.finish()
}

function read(text: string): RevocationLine[] {
  const lines: RevocationLine[] = []
  readPageLines(text, (line) => lines.push(line))
  return lines
}

const toLines = (entries: readonly CheckedEntry[], view: SiteView) =>
  entries.flatMap((entry) => toRevocationLine(entry, view) ?? [])

/** The pages of these entries, each as long as the next of `sizes`. */
function toPages(entries: readonly CheckedEntry[], view: SiteView, sizes: readonly number[]): string[] {
  const pages: string[] = []
  let from = 0
  for (const size of sizes) {
    pages.push(pack(toLines(entries.slice(from, from + size), view)).text)
    from += size
  }
  return [...pages, pack(toLines(entries.slice(from), view)).text]
}

function restore(view: SiteView, pages: readonly string[]): SiteView {
  const restored = beginRestore({ siteId: SITE, head: view.head, at: at(1000), seed: SEED })
  for (const line of toStateLines(view)) restored.add(line)
  for (const page of pages) readPageLines(page, (line) => restored.add(line))
  return restored.finish()
}

describe('a page', () => {
  test('of any log restores a view that answers like the log', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(anyLog, userLog),
        fc.array(fc.nat(10), { maxLength: 4 }),
        async (sayings, sizes) => {
          const entries = await createLog([SITE_CHANGED, ...sayings])
          const view = createView(entries)
          const restored = restore(view, toPages(entries, view, sizes))
          expect(listAnswers(restored)).toEqual(listAnswers(view))
          expect(restored.head).toEqual(view.head)
          expect(restored.provenHead).toEqual(view.head)
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('merged from two pages answers like both', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyLog, userLog), fc.nat(40), async (sayings, cut) => {
        const entries = await createLog([SITE_CHANGED, ...sayings])
        const view = createView(entries)
        const pages = toPages(entries, view, [cut])
        const merged = pack(pages.flatMap(read)).text
        expect(listAnswers(restore(view, [merged]))).toEqual(listAnswers(view))
      }),
      { numRuns: runs(100) },
    )
  })

  test('lets the restored view follow the rest of the log', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, fc.nat(40), async (sayings, cut) => {
        const entries = await createLog([SITE_CHANGED, ...sayings])
        const first = createView(entries.slice(0, cut + 1))
        const restored = restore(first, toPages(entries.slice(0, cut + 1), first, []))
        for (const entry of entries.slice(cut + 1)) expect(restored.apply(entry)).toBe('applied')
        expect(listAnswers(restored)).toEqual(listAnswers(createView(entries)))
      }),
      { numRuns: runs(100) },
    )
  })

  test('has packs of at most 1000 ids, whose times are counted from the earliest one', () => {
    const { text, lines, revocations, newestMs } = pack(
      Array.from({ length: PACK_IDS_MAX + 2 }, (_, n) => credentialLine(n, 5000 - n)),
    )
    expect([lines, revocations, newestMs]).toEqual([2, PACK_IDS_MAX + 2, msAt(5000)])
    const [first, second] = read(text) as PackLine[]
    expect(first?.ids).toHaveLength(PACK_IDS_MAX)
    expect(first).toMatchObject({ since: at(4001) })
    expect(first?.ms[0]).toBe(999_000)
    expect(second).toEqual({
      type: 'credentials',
      since: at(3999),
      ids: [credential(1000), credential(1001)],
      ms: [1000, 0],
    })
  })

  test('keeps the order of the lines about one user', () => {
    const { text } = pack([
      { type: 'user', ppid: user(1), revoked_at: at(1) },
      { type: 'user', ppid: user(2), revoked_at: at(1) },
      { type: 'user', ppid: user(1), revoked_at: at(1), reinstated_at: at(2) },
      { type: 'user', ppid: user(1), revoked_at: at(3) },
    ])
    expect(read(text)).toEqual([
      { type: 'users', since: at(1), ids: [user(1), user(2)], ms: [0, 0] },
      { type: 'user', ppid: user(1), revoked_at: at(1), reinstated_at: at(2) },
      { type: 'users', since: at(3), ids: [user(1)], ms: [0] },
    ])
  })

  test('contains sign-outs and holder keys as single lines, and tokens in packs', () => {
    const { text, revocations, newestMs } = pack([
      { type: 'token', token_sha256: token(1), revoked_at: at(1) },
      { type: 'signed_out', ppid: user(1), before: at(9) },
      { type: 'holder', thumbprint: thumbprint(1), revoked_at: at(3) },
      { type: 'tokens', since: at(4), ids: [token(2)], ms: [500] },
    ])
    expect(read(text)).toEqual([
      { type: 'signed_out', ppid: user(1), before: at(9) },
      { type: 'holder', thumbprint: thumbprint(1), revoked_at: at(3) },
      { type: 'tokens', since: at(1), ids: [token(1), token(2)], ms: [0, 3500] },
    ])
    expect([revocations, newestMs]).toEqual([4, msAt(9)])
  })

  test('without revocations is empty', () => {
    expect(pack([])).toEqual({ text: '', lines: 0, revocations: 0, newestMs: 0 })
    expect(read('')).toEqual([])
  })

  test.each([
    ['a line without its end', JSON.stringify(credentialLine(1))],
    ['an empty line', `\n${JSON.stringify(credentialLine(1))}\n`],
    ['a line that is not JSON', '{"type":\n'],
    ['an unknown line', '{"type":"wallet"}\n'],
    ['settings of the site', `${JSON.stringify({ type: 'site', ...BODIES['site.changed'] })}\n`],
    ['a cut-off', `${JSON.stringify({ type: 'cut_off', issuer: null, before: at(1) })}\n`],
    [
      'another page',
      `${JSON.stringify({ type: 'page', from_seq: 1, to_seq: 1, lines: 0, sha256: token(1) })}\n`,
    ],
  ])('with %s is rejected', (_, text) => {
    expect(() => read(text)).toThrow(SyntaxError)
  })
})

describe('a pack', () => {
  const PACK = { type: 'credentials', since: at(0), ids: [credential(1), credential(2)], ms: [0, 1] }

  test.each([
    ['fewer times than ids', { ms: [0] }],
    ['more times than ids', { ms: [0, 1, 2] }],
    ['no ids', { ids: [], ms: [] }],
    ['1001 ids', { ids: Array(1001).fill(credential(1)), ms: Array(1001).fill(0) }],
    ['an id of another type', { ids: [credential(1), user(1)] }],
    ['a negative time', { ms: [0, -1] }],
    ['half a millisecond', { ms: [0, 0.5] }],
    ['a time that is text', { ms: [0, '1'] }],
    ['no time', { ms: [0, null] }],
    ['a time after the year 9999', { ms: [0, 8e15] }],
    ['a number that is too large', { ms: [0, 1e300] }],
    ['a beginning that is no time', { since: '2026-02-30T00:00:00Z' }],
    ['another member', { reason: 'because' }],
  ])('with %s is rejected', (_, change) => {
    expect(parseSnapshotLine(PACK)).toEqual(PACK)
    expect(parseSnapshotLine({ ...PACK, ...change })).toBeUndefined()
  })

  test('of 1000 ids is accepted', () => {
    const pack = { type: 'tokens', since: at(0), ids: Array(1000).fill(token(1)), ms: Array(1000).fill(7) }
    expect(parseSnapshotLine(pack)).toEqual(pack)
  })
})

describe('the announcement of a page', () => {
  const PAGE = { type: 'page', from_seq: 3, to_seq: 9, lines: 2, sha256: token(1) }

  test.each([
    ['seq 0', { from_seq: 0 }],
    ['an end before its beginning', { to_seq: 2 }],
    ['more lines than a page can have', { lines: 50_001 }],
    ['a negative number of lines', { lines: -1 }],
    ['no digest', { sha256: '' }],
    ['another member', { bytes: 1 }],
  ])('with %s is rejected', (_, change) => {
    expect(parseSnapshotLine(PAGE)).toEqual(PAGE)
    expect(parseSnapshotLine({ ...PAGE, ...change })).toBeUndefined()
  })
})
