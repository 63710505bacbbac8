import { createHash } from 'node:crypto'
import {
  checkSnapshot,
  generatePrivateKey,
  type PageLine,
  PagePacker,
  type RevocationLine,
  type SnapshotHead,
  type SnapshotLine,
  signSnapshot,
} from '@countersign/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readSnapshot } from '../../src/feed/snapshot-reader.ts'

const AT = '2026-11-14T12:00:00Z'
const HEAD = {
  type: 'head',
  site_id: 'shop.example',
  epoch: '0123456789abcdef',
  seq: 40,
  hash: 'ab'.repeat(32),
  as_of: AT,
  max_age_seconds: 60,
  base: { seq: 10, hash: 'cd'.repeat(32) },
} as unknown as SnapshotHead
const SITE_LINE = {
  type: 'site',
  bearer: 'on',
  holder_proof: 'optional',
  delegation: 'on',
  credential_ttl_seconds_max: null,
} as const
const key = await generatePrivateKey('Ed25519')

const credential = (n: number) => `cred_${String(n).padStart(8, '0')}`
const credentialLine = (n: number) =>
  ({ type: 'credential', credential_id: credential(n), revoked_at: AT }) as unknown as RevocationLine
const holderLine = { type: 'holder', thumbprint: 'a'.repeat(43), revoked_at: AT } as RevocationLine
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A page, as an announcement and the text of its lines. */
interface Page {
  readonly announced: PageLine
  readonly text: string
}

function toPage(from_seq: number, to_seq: number, revocations: readonly RevocationLine[]): Page {
  const packer = new PagePacker()
  for (const line of revocations) packer.add(line)
  const { text, lines } = packer.finish()
  return { announced: { type: 'page', from_seq, to_seq, lines, sha256: sha256(text) }, text }
}

const PAGES = [
  toPage(1, 20, [credentialLine(1), credentialLine(2), holderLine]),
  toPage(21, 25, []),
  toPage(26, 38, [credentialLine(3), holderLine]),
] as const
const TAIL = [credentialLine(4)]
const ADDED = [
  SITE_LINE,
  holderLine,
  { type: 'credentials', since: AT, ids: [credential(1), credential(2)], ms: [0, 0] },
  holderLine,
  { type: 'credentials', since: AT, ids: [credential(3)], ms: [0] },
  credentialLine(4),
]

const encode = (text: string) => new TextEncoder().encode(text)
const toText = (line: unknown) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`

interface Parts {
  readonly head?: SnapshotHead
  readonly state?: readonly unknown[]
  readonly pages?: readonly Page[]
  readonly tail?: readonly unknown[]
}

/** The text of a snapshot that the service itself has signed. */
async function signed({ head = HEAD, state = [SITE_LINE], pages = PAGES, tail = TAIL }: Parts = {}) {
  const first = [head, ...state]
  const outside = [...first, ...pages.map(({ announced }) => announced), ...tail].map(toText)
  const digest = { lines: outside.length, sha256: sha256(outside.join('')) }
  const end = await signSnapshot(head, digest, 'feed-1', key)
  const paged = pages.map(({ announced, text }) => toText(announced) + text)
  return [...first.map(toText), ...paged, ...tail.map(toText), toText(end)].join('')
}
const SIGNED = await signed()

async function* pieces(...list: Uint8Array[]) {
  yield* list
}

type Limits = Parameters<typeof readSnapshot>[2]

/** What a guard would load, or why it loads nothing. */
async function read(text: string | Uint8Array[], limits?: Limits) {
  const added: SnapshotLine[] = []
  const chunks = typeof text === 'string' ? [encode(text)] : text
  const load = { add: (line: SnapshotLine) => added.push(line) }
  const { head, end, received } = await readSnapshot(pieces(...chunks), () => load, limits)
  const proof = await checkSnapshot(head, end, received, key.publicKey)
  return proof === undefined ? 'unsigned' : { head, added }
}
const tryToRead = (text: string | Uint8Array[]) =>
  read(text).catch((error: { code?: string }) => error.code ?? 'unreadable')

describe('a snapshot with pages', () => {
  test('is the same however its bytes are cut', async () => {
    const bytes = encode(SIGNED)
    for (let cut = 0; cut <= bytes.length; cut += 7)
      expect(await read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual({ head: HEAD, added: ADDED })
    expect(await read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual({ head: HEAD, added: ADDED })
  })

  test('may end with a page, or with one that ends at the head', async () => {
    expect(await read(await signed({ tail: [] }))).toMatchObject({ added: ADDED.slice(0, -1) })
    const pages = [toPage(1, 40, [credentialLine(1)])]
    expect(await read(await signed({ pages, tail: [] }))).toMatchObject({ head: HEAD })
  })

  test('may have characters outside ASCII before the pages', async () => {
    const state = [
      SITE_LINE,
      {
        type: 'oauth_issuer',
        state: {
          type: 'oauth',
          issuer: 'https://idp.example',
          keys: [],
          audience: ['https://api.shop.example/é€😀'],
          client_ids: null,
          required_claims: { name: 'Ünsal 😀' },
          require_at_jwt: true,
          scope: null,
          scope_claim: 'scope',
          scope_map: {},
          session_claim: 'sid',
          subject_claim: 'sub',
          token_ttl_seconds_max: 3600,
          user_ref_from_subject: false,
        },
        distrusted_at: null,
      },
    ]
    const bytes = encode(await signed({ state }))
    for (let cut = 0; cut <= bytes.length; cut += 31)
      expect(await tryToRead([bytes.subarray(0, cut), bytes.subarray(cut)])).toMatchObject({ head: HEAD })
  })

  test('that was cut off anywhere is none (A258)', async () => {
    for (let length = 0; length < SIGNED.length; length += 3)
      expect(await tryToRead(SIGNED.slice(0, length)), `after ${length} bytes`).toBe('unreadable')
  })

  test.each<[string, Parts]>([
    ['does not begin at the first entry', { pages: PAGES.slice(1) }],
    ['has a gap between two pages', { pages: [PAGES[0], PAGES[2]] }],
    ['has a page twice', { pages: [PAGES[0], PAGES[0], PAGES[1], PAGES[2]] }],
    ['has pages that overlap', { pages: [PAGES[0], toPage(20, 25, [])] }],
    ['has pages in another order', { pages: [PAGES[1], PAGES[0], PAGES[2]] }],
    ['has a page that ends after the head', { pages: [toPage(1, 41, [])] }],
    ['has a page after single revocations', { state: [SITE_LINE, credentialLine(9)] }],
    ['has an epoch after a page', { tail: [{ ...epochLine() }] }],
    ['announces a page in other words', { pages: [], tail: [` ${JSON.stringify(PAGES[0].announced)}`] }],
    ['announces a page as its last line', { tail: [], pages: [{ ...PAGES[0], text: '' }] }],
    [
      'announces more lines than the page has',
      { pages: [{ ...PAGES[0], announced: { ...PAGES[0].announced, lines: 3 } }], tail: [] },
    ],
    ['has settings in a page', { state: [], pages: [withLine(toText(SITE_LINE))] }],
    ['has an announcement in a page', { pages: [withLine(toText(toPage(2, 3, []).announced))] }],
    ['has a head in a page', { pages: [withLine(toText(HEAD))] }],
    ['has an empty line in a page', { pages: [withLine('\n')] }],
    [
      'has a pack with fewer times than ids',
      { pages: [withLine(toText({ type: 'credentials', since: AT, ids: [credential(1)], ms: [] }))] },
    ],
    [
      'has a pack of another type of id',
      { tail: [{ type: 'users', since: AT, ids: [credential(1)], ms: [0] }] },
    ],
  ])('that %s is none, although it is signed', async (_, parts) => {
    expect(await tryToRead(await signed(parts))).toBe('unreadable')
  })

  test.each<[string, string, string]>([
    ['an id in a page was changed', credential(1), credential(7)],
    ['a time in a page was changed', '"ms":[0,0]', '"ms":[0,1]'],
    ['a space was added to a page', '"ms":[0,0]', '"ms":[0, 0]'],
    ['the digest of a page was changed', PAGES[0].announced.sha256, 'ee'.repeat(32)],
    ['the digest of an empty page was changed', PAGES[1].announced.sha256, 'ee'.repeat(32)],
  ])('is rejected when %s (A258)', async (_, from, to) => {
    expect(SIGNED).toContain(from)
    expect(await tryToRead(SIGNED.replace(from, to))).toBe('snapshot_unsigned')
  })

  test.each<[string, (text: string) => string]>([
    [
      'with another page and its digest',
      (text) => replacePage(text, toPage(1, 20, [holderLine, holderLine])),
    ],
    ['with another range of entries', (text) => text.replace('"to_seq":38', '"to_seq":39')],
    ['without the last page', (text) => text.replace(toText(PAGES[2].announced) + PAGES[2].text, '')],
    ['without the base', (text) => text.replace('"base":{"seq":10', '"base":{"seq":11')],
    [
      'with pages of two moments',
      (text) => text.replace(toText(PAGES[2].announced) + PAGES[2].text, toPageText(toPage(26, 38, []))),
    ],
    ['without its last revocation', (text) => text.replace(toText(TAIL[0]), '')],
  ])('is rejected %s, because the signature does not cover it (A258)', async (_, change) => {
    expect(change(SIGNED)).not.toBe(SIGNED)
    expect(await tryToRead(change(SIGNED))).toBe('unsigned')
  })

  test.each([-1, 1])('is rejected when a page announces %i lines more (A258)', async (more) => {
    const { lines } = PAGES[0].announced
    const changed = SIGNED.replace(`"lines":${lines}`, `"lines":${lines + more}`)
    expect(['unreadable', 'snapshot_unsigned']).toContain(await tryToRead(changed))
  })

  test('that was changed at random is rejected, or says the same (A258)', async () => {
    let rejected = 0
    await fc.assert(
      fc.asyncProperty(anyChange, async (change) => {
        const outcome = await tryToRead([change(encode(SIGNED))])
        if (typeof outcome === 'string') rejected++
        else expect(outcome).toEqual({ head: HEAD, added: ADDED })
      }),
      { numRuns: 1500 },
    )
    // Only changes of the spelling of the last line are harmless.
    expect(rejected).toBeGreaterThan(1200)
    expect(await tryToRead(SIGNED)).toEqual({ head: HEAD, added: ADDED })
  })

  test('has its ids counted, and is given up beyond the limit', async () => {
    const limits = { records: 0, bytes: 1e6, issuerLines: 10, issuerBytes: 1e6 }
    // The head, the site, three announcements, two holder keys and four credentials.
    expect(await read(SIGNED, { ...limits, records: 11 })).toMatchObject({ added: ADDED })
    await expect(read(SIGNED, { ...limits, records: 10 })).rejects.toMatchObject({
      code: 'snapshot_too_large',
    })
  })
})

/** Changes bytes, removes, repeats or moves a range, or changes the order of lines. */
const anyChange: fc.Arbitrary<(bytes: Uint8Array) => Uint8Array> = fc
  .tuple(
    fc.constantFrom('flip', 'remove', 'repeat', 'move', 'swap lines', 'remove a line', 'repeat a line'),
    fc.nat(SIGNED.length - 1),
    fc.nat(60),
    fc.nat(SIGNED.length - 1),
    fc.integer({ min: 1, max: 255 }),
  )
  .map(([what, at, length, to, byte]) => (bytes) => {
    const text = new TextDecoder().decode(bytes)
    const lines = text.split('\n')
    const [one, other] = [at % (lines.length - 1), to % (lines.length - 1)]
    switch (what) {
      case 'flip':
        return bytes.map((each, i) => (i === at ? each ^ byte : each))
      case 'remove':
        return encode(text.slice(0, at) + text.slice(at + length + 1))
      case 'repeat':
        return encode(text.slice(0, at + length + 1) + text.slice(at))
      case 'move': {
        const rest = text.slice(0, at) + text.slice(at + length + 1)
        return encode(rest.slice(0, to) + text.slice(at, at + length + 1) + rest.slice(to))
      }
      case 'swap lines':
        return encode(
          lines.map((line, i) => (i === one ? lines[other] : i === other ? lines[one] : line)).join('\n'),
        )
      case 'remove a line':
        return encode(lines.filter((_, i) => i !== one).join('\n'))
      default:
        return encode(lines.flatMap((line, i) => (i === one ? [line, line] : [line])).join('\n'))
    }
  })

function epochLine() {
  return {
    type: 'epoch',
    site_id: 'shop.example',
    epoch: '0123456789abcdef',
    previous: { epoch: 'fedcba9876543210', seq: 3, hash: 'ab'.repeat(32) },
    at: AT,
    kid: 'feed-1',
    signature: 'A'.repeat(86),
  }
}

/** A page with this one line and the right digest. */
function withLine(text: string): Page {
  return { announced: { type: 'page', from_seq: 1, to_seq: 20, lines: 1, sha256: sha256(text) }, text }
}

function toPageText({ announced, text }: Page): string {
  return toText(announced) + text
}

/** Puts another page in the place of the first one. */
function replacePage(text: string, page: Page): string {
  return text.replace(toPageText(PAGES[0]), toPageText(page))
}
