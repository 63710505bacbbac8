import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../src/encoding/jcs.ts'
import type { JsonValue } from '../../src/encoding/json.ts'
import { auditChain, checkEntry, createEntry, entryHash, GENESIS_HASH } from '../../src/log/chain.ts'
import { type Entry, parseEntry } from '../../src/log/entry.ts'
import {
  at,
  BODIES,
  createLog,
  credential,
  EPOCH,
  KINDS,
  OTHER_SITE,
  revocations,
  type Saying,
  SITE,
  START,
  toHead,
  token,
  user,
} from './log-sample.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const oneOfEachKind = KINDS.map((kind) => ({ kind, body: BODIES[kind] }) as Saying)

/** A changed entry with a correct hash. */
const resealed = async (entry: Entry, changes: Partial<Entry>) => {
  const changed = { ...entry, ...changes } as Entry
  return { ...changed, hash: await entryHash(changed) } as Entry
}

describe('the hash of an entry', () => {
  test('is the SHA-256 of the canonical JSON of the rest, for every kind', async () => {
    for (const entry of await createLog(oneOfEachKind)) {
      expect(entry.hash, entry.kind).toBe(sha256(canonicalJson(entry as unknown as JsonValue, 'hash')))
    }
  })

  test('does not depend on the order in which the members came', async () => {
    for (const entry of await createLog(oneOfEachKind)) {
      const shuffled = parseEntry(backwards(entry))
      expect(shuffled).toEqual(entry)
      expect(await checkEntry(shuffled as Entry), entry.kind).toBeDefined()
    }
  })

  test('is what it was when this test was written', async () => {
    const [entry] = await createLog([
      { kind: 'credential.revoked', body: { credential_id: credential(1), revoked_at: at(3) } },
    ])
    expect(canonicalJson(entry as unknown as JsonValue, 'hash')).toBe(
      '{"at":"2026-11-14T12:00:00Z","body":{"credential_id":"cred_00000000000000000000000001","revoked_at":"2026-11-14T12:00:03Z"},' +
        '"epoch":"0123456789abcdef","kind":"credential.revoked","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000",' +
        '"seq":1,"site_id":"shop.example"}',
    )
    expect(entry?.hash).toBe('7fb0d1286f55a07606fe5cd3b3fcb7e117bc56753be59a202f5bfed4d5b3172d')
  })

  test('covers every member', async () => {
    const [entry] = (await createLog([
      { kind: 'user.revoked', body: BODIES['user.revoked'] },
    ])) as Entry[] as [Entry]
    const changes: Partial<Entry>[] = [
      { epoch: `${EPOCH}0` },
      { seq: 2 },
      { site_id: OTHER_SITE },
      { kind: 'user.reinstated' } as Partial<Entry>,
      { body: { ppid: user(2), revoked_at: at(1) } },
      { body: { ppid: user(1), revoked_at: at(2) } },
      { at: at(9) },
      { prev_hash: token(1) },
      { hash: token(1) },
    ]
    expect(await checkEntry(entry)).toBe(entry)
    for (const change of changes)
      expect(await checkEntry({ ...entry, ...change } as Entry), JSON.stringify(change)).toBeUndefined()
  })
})

describe('createEntry', () => {
  test('continues a log: the next number, the same epoch, the hash before', async () => {
    const [first, second] = (await createLog(revocations(2))) as Entry[] as [Entry, Entry]
    expect(first).toMatchObject({ seq: 1, epoch: EPOCH, site_id: SITE, prev_hash: GENESIS_HASH })
    expect(second).toMatchObject({ seq: 2, epoch: EPOCH, site_id: SITE, prev_hash: first.hash })
  })

  test('throws rather than make an entry that no reader would take', () => {
    const fields = { siteId: SITE, kind: 'user.revoked', body: BODIES['user.revoked'], at: at(0) } as const
    expect(() => createEntry(fields, START)).not.toThrow()
    expect(() => createEntry({ ...fields, at: 'now' }, START)).toThrow(TypeError)
    expect(() =>
      createEntry({ ...fields, body: { ...fields.body, reason: 'because' } as never }, START),
    ).toThrow(TypeError)
    expect(() => createEntry({ ...fields, kind: 'user.renamed' } as unknown as typeof fields, START)).toThrow(
      TypeError,
    )
    expect(() => createEntry(fields, { ...START, epoch: 'X' })).toThrow(TypeError)
  })
})

describe('auditChain', () => {
  test('finds nothing wrong with a good log and says where it ends', async () => {
    const entries = await createLog(oneOfEachKind)
    const head = toHead(entries.at(-1) as Entry)
    expect(await auditChain(entries)).toEqual({ ok: true, head })
    expect(await auditChain(inPieces(entries), { siteId: SITE })).toEqual({ ok: true, head })
    expect(await auditChain(entries.slice(3), { head: toHead(entries[2] as Entry) })).toEqual({
      ok: true,
      head,
    })
  })

  test('takes an empty log for one that has not begun', async () => {
    expect(await auditChain([])).toEqual({ ok: true, head: { epoch: '', seq: 0, hash: GENESIS_HASH } })
    expect(await auditChain([], { head: START })).toEqual({ ok: true, head: START })
  })

  test.each([
    ['hole', async (e: Entry[]) => e.toSpliced(3, 1), 4, 5],
    ['hole', async (e: Entry[]) => e.slice(1), 1, 2],
    ['hole', async (e: Entry[]) => e.toSpliced(3, 0, e[2] as Entry), 4, 3],
    [
      'wrong_hash',
      async (e: Entry[]) =>
        e.with(3, { ...e[3], body: { credential_id: credential(9), revoked_at: at(0) } } as Entry),
      4,
      4,
    ],
    [
      'wrong_prev',
      async (e: Entry[]) => e.with(3, await resealed(e[3] as Entry, { prev_hash: token(1) })),
      4,
      4,
    ],
    ['wrong_prev', async (e: Entry[]) => e.with(3, await resealed(e[3] as Entry, { at: at(99) })), 5, 5],
    [
      'wrong_prev',
      async (e: Entry[]) => e.with(0, await resealed(e[0] as Entry, { prev_hash: token(1) })),
      1,
      1,
    ],
    [
      'other_epoch',
      async (e: Entry[]) => e.with(3, await resealed(e[3] as Entry, { epoch: 'fedcba9876543210' })),
      4,
      4,
    ],
    [
      'other_site',
      async (e: Entry[]) => e.with(3, await resealed(e[3] as Entry, { site_id: OTHER_SITE })),
      4,
      4,
    ],
  ] as const)('finds a %s', async (fault, spoil, seq, found) => {
    const spoiled = await spoil(await createLog(revocations(6)))
    expect(await auditChain(spoiled)).toEqual({ ok: false, fault, seq, found })
    expect(await auditChain(inPieces(spoiled))).toEqual({ ok: false, fault, seq, found })
  })

  test('holds the first entry to the site and head it was told to begin with', async () => {
    const entries = await createLog(revocations(3))
    expect(await auditChain(entries, { siteId: OTHER_SITE })).toMatchObject({
      ok: false,
      fault: 'other_site',
      seq: 1,
    })
    expect(await auditChain(entries.slice(1), { head: { ...START, seq: 1, hash: token(1) } })).toMatchObject({
      ok: false,
      fault: 'wrong_prev',
      seq: 2,
    })
    expect(await auditChain(entries, { head: { ...START, epoch: 'fedcba9876543210' } })).toMatchObject({
      ok: false,
      fault: 'other_epoch',
      seq: 1,
    })
  })

  test('notices any entry taken out of the middle, doubled, or put elsewhere', async () => {
    const entries = await createLog(revocations(12))
    await fc.assert(
      fc.asyncProperty(
        fc.nat(10),
        fc.nat(11),
        fc.constantFrom('remove', 'double', 'swap'),
        async (i, j, how) => {
          const spoiled = [...entries]
          if (how === 'remove') spoiled.splice(i, 1)
          if (how === 'double') spoiled.splice(i, 0, spoiled[i] as (typeof entries)[number])
          if (how === 'swap')
            [spoiled[i], spoiled[j]] = [
              spoiled[j] as (typeof entries)[number],
              spoiled[i] as (typeof entries)[number],
            ]
          expect((await auditChain(spoiled)).ok).toBe(how === 'swap' && i === j)
        },
      ),
    )
  })
})

async function* inPieces<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) yield item
}

function backwards(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(backwards)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([member, inner]) => [member, backwards(inner)]),
  )
}
