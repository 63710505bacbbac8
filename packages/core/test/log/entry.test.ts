import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Entry, type EntryKind, ISSUER_KEYS_MAX, parseEntry } from '../../src/log/entry.ts'
import { activeKey, at, BODIES, EPOCH, issuer, KINDS, multikey, SITE, token } from './log-sample.ts'

/** Without a correct hash, which the parser does not check. */
function createEntryOfKind(
  kind: string,
  body: unknown = BODIES[kind as EntryKind],
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    epoch: EPOCH,
    seq: 7,
    site_id: SITE,
    kind,
    body,
    at: at(0),
    prev_hash: token(1),
    hash: token(2),
    ...changes,
  }
}

describe('parseEntry', () => {
  test.each(KINDS)('takes a good %s', (kind) => {
    expect(parseEntry(createEntryOfKind(kind))).toEqual(createEntryOfKind(kind))
  })

  test('gives a copy, so that what was checked cannot be changed afterwards', () => {
    const mutable = structuredClone(createEntryOfKind('issuer.trusted')) as {
      body: { issuer: string; keys: { status: string }[]; scope: string[] }
    }
    const entry = parseEntry(mutable)
    mutable.body.issuer = issuer(9)
    mutable.body.scope.push('admin')
    ;(mutable.body.keys[0] as { status: string }).status = 'compromised'
    expect(entry).toEqual(createEntryOfKind('issuer.trusted'))
  })

  test.each([
    ['a kind it does not know', { kind: 'user.renamed' }],
    ['a kind that is the name of an inherited member', { kind: 'constructor' }],
    ['a short epoch', { epoch: 'abcdefg' }],
    ['a long epoch', { epoch: 'a'.repeat(33) }],
    ['an epoch with capitals', { epoch: '0123456789ABCDEF' }],
    ['seq 0', { seq: 0 }],
    ['a negative seq', { seq: -1 }],
    ['a seq with a fraction', { seq: 1.5 }],
    ['a seq beyond the safe integers', { seq: 2 ** 53 }],
    ['a seq in a string', { seq: '7' }],
    ['a site with capitals', { site_id: 'Shop.example' }],
    ['a time that does not exist', { at: '2026-02-30T12:00:00Z' }],
    ['a time without zone', { at: '2026-11-14T12:00:00' }],
    ['a hash in capitals', { hash: 'A'.repeat(64) }],
    ['a short hash', { hash: '0'.repeat(63) }],
    ['a long previous hash', { prev_hash: '0'.repeat(65) }],
    ['a previous hash with a character beyond ASCII', { prev_hash: `${'0'.repeat(63)}\u0130` }],
    ['a previous hash that is no string', { prev_hash: 0 }],
    ['a member too many', { reason: 'because' }],
    ['no body', { body: undefined }],
    ['a body that is a list', { body: [] }],
    ['null for a body', { body: null }],
  ])('rejects %s', (_, changes) => {
    expect(
      parseEntry(createEntryOfKind('user.revoked', undefined, changes as Record<string, unknown>)),
    ).toBeUndefined()
  })

  test.each(Object.keys(createEntryOfKind('user.revoked')))('rejects an entry without %s', (member) => {
    const { [member]: _, ...rest } = createEntryOfKind('user.revoked')
    expect(parseEntry(rest)).toBeUndefined()
  })

  test.each(KINDS)('rejects a body of %s with one member more or one less', (kind) => {
    const body = BODIES[kind] as unknown as Record<string, unknown>
    expect(parseEntry(createEntryOfKind(kind, { ...body, reason: 'because' }))).toBeUndefined()
    for (const member of Object.keys(body)) {
      const { [member]: _, ...rest } = body
      expect(parseEntry(createEntryOfKind(kind, rest)), `without ${member}`).toBeUndefined()
      expect(
        parseEntry(createEntryOfKind(kind, { ...rest, other: body[member] })),
        `${member} renamed`,
      ).toBeUndefined()
    }
  })

  test.each(KINDS)('rejects the body of any other kind under %s', (kind) => {
    for (const other of KINDS) {
      const alike = JSON.stringify(Object.keys(BODIES[kind])) === JSON.stringify(Object.keys(BODIES[other]))
      expect(parseEntry(createEntryOfKind(kind, BODIES[other])) !== undefined, other).toBe(alike)
    }
  })

  test.each([
    ['user.revoked', { ppid: 'did:service:ppid_short' }],
    ['user.revoked', { revoked_at: 'yesterday' }],
    ['user.reinstated', { ppid: 5 }],
    ['user.reinstated', { reinstated_at: 1_763_121_600 }],
    ['credential.revoked', { credential_id: 'did:service:cred_00000000000000000000000001' }],
    ['credential.revoked', { revoked_at: null }],
    ['token.revoked', { token_sha256: 'svc_at_0123456789' }],
    ['token.revoked', { revoked_at: '2026-11-14T12:00:00+00:00' }],
    ['issuer.distrusted', { issuer: 'ftp://issuer.example' }],
    ['issuer.distrusted', { issuer: 'did:web:issuer.example#key-1' }],
    ['issuer.distrusted', { issuer: `did:web:${'a'.repeat(1024)}` }],
    ['key.retired', { key_id: 'key 1' }],
    ['key.retired', { issuer: '' }],
    ['key.compromised', { key_id: '' }],
    ['key.compromised', { at: '' }],
    ['site.changed', { bearer: true }],
    ['site.changed', { holder_proof: 'sometimes' }],
    ['site.changed', { credential_ttl_seconds_max: 0 }],
    ['site.changed', { credential_ttl_seconds_max: 1.5 }],
    ['issuer.trusted', { issuer: 'did:example:1' }],
    ['issuer.trusted', { scope: [] }],
    ['issuer.trusted', { scope: ['a', 'a'] }],
    ['issuer.trusted', { scope: 'orders:read' }],
    ['issuer.trusted', { credential_ttl_seconds_max: -1 }],
    ['issuer.trusted', { keys: {} }],
    ['issuer.trusted', { keys: [activeKey('key-1', 1), activeKey('key-1', 2)] }],
    ['issuer.trusted', { keys: [{ ...activeKey('key-1', 1), key: multikey(1).slice(0, -1) }] }],
    ['issuer.trusted', { keys: [{ ...activeKey('key-1', 1), id: 'key#1' }] }],
    ['issuer.trusted', { keys: [{ ...activeKey('key-1', 1), status: 'retired' }] }],
    ['issuer.trusted', { keys: [{ ...activeKey('key-1', 1), status: 'revoked' }] }],
    ['issuer.trusted', { keys: [{ ...activeKey('key-1', 1), retired_at: at(0) }] }],
    ['issuer.trusted', { keys: [{ ...activeKey('key-1', 1), status: 'retired', retired_at: 'soon' }] }],
    ['issuer.trusted', { keys: [{ ...activeKey('key-1', 1), note: 'x' }] }],
    ['issuer.trusted', { keys: [null] }],
  ] as const)('rejects %s with %j', (kind, changes) => {
    expect(parseEntry(createEntryOfKind(kind, { ...BODIES[kind], ...changes }))).toBeUndefined()
  })

  test('takes as many keys of an issuer as are allowed and not one more', () => {
    const keys = Array.from({ length: ISSUER_KEYS_MAX + 1 }, (_, n) => activeKey(`key-${n}`, n))
    const bodyWith = (count: number) => ({ ...BODIES['issuer.trusted'], keys: keys.slice(0, count) })
    expect(parseEntry(createEntryOfKind('issuer.trusted', bodyWith(ISSUER_KEYS_MAX)))).toBeDefined()
    expect(parseEntry(createEntryOfKind('issuer.trusted', bodyWith(ISSUER_KEYS_MAX + 1)))).toBeUndefined()
  })

  test('never throws, for any input', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.anything(), fc.anything(), (kind, value, body) => {
        parseEntry(value)
        parseEntry(createEntryOfKind(kind, body))
      }),
    )
  })

  test('rejects every entry in which one member anywhere has become something else', () => {
    const other = fc.oneof(
      fc.constant(undefined),
      fc.boolean(),
      fc.constant(-1),
      fc.constant('\ud800'),
      fc.constant({}),
      fc.constant([[]]),
    )
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.nat(), other, (kind, pick, replacement) => {
        const entry = structuredClone(createEntryOfKind(kind))
        const places = placesIn(entry)
        const [holder, member] = places[pick % places.length] as [Record<string, unknown>, string]
        const before = holder[member]
        // Another boolean, or the same empty object, can be valid.
        fc.pre(typeof before !== 'boolean' || typeof replacement !== 'boolean')
        fc.pre(JSON.stringify(before) !== JSON.stringify(replacement))
        holder[member] = replacement
        expect(parseEntry(entry) as Entry | undefined).toBeUndefined()
      }),
    )
  })
})

/** Every member of every object and list in the value. */
function placesIn(value: unknown): [Record<string, unknown>, string][] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap((member) => [
    [holder, member] as [Record<string, unknown>, string],
    ...placesIn(holder[member]),
  ])
}
