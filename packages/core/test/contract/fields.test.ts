import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import {
  credentialId,
  feedCursor,
  parseFeedCursor,
  permissionId,
  ppid,
  scope,
  scopeList,
  siteHost,
  siteId,
  someScopes,
  time,
} from '../../src/contract/fields.ts'
import {
  parseCredentialId,
  parsePermissionId,
  parsePpid,
  parseScope,
  parseScopeList,
  parseSiteId,
} from '../../src/credential/ids.ts'
import { parseTime } from '../../src/encoding/rfc3339.ts'
import { parseSiteHost } from '../../src/holder/site-host.ts'
import { runs } from '../runs.ts'

interface Documented {
  readonly pattern: string
  readonly maxLength?: number
}

/** Texts that are almost valid: pieces of valid ones, joined, cut and changed. */
const near = (...pieces: string[]) =>
  fc
    .array(
      fc.oneof(
        fc.constantFrom(...pieces),
        fc.constantFrom('', '.', '-', '_', ':', '/', 'A', 'z', '9', ' ', '\n', 'é', '\u0000', 'a'.repeat(64)),
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join(''))

type Grammar = [
  name: string,
  schema: z.ZodType,
  parse: (value: unknown) => unknown,
  texts: fc.Arbitrary<string>,
  /** So that a search in which no text was valid is not taken for an agreement. */
  valid: string,
]

const grammars: Grammar[] = [
  [
    'site_id',
    siteId,
    parseSiteId,
    near('shop', '.example', 'xn--', '10.0.0.1', 'a'.repeat(63)),
    'shop.example',
  ],
  [
    'host',
    siteHost,
    parseSiteHost,
    near('shop', '.example', ':8443', ':0', ':65536', 'a'.repeat(63)),
    'shop.example:8443',
  ],
  [
    'ppid',
    ppid,
    parsePpid,
    near('did:service:ppid_', 'abcdefgh', 'x'.repeat(120)),
    'did:service:ppid_abcdefgh',
  ],
  [
    'credential_id',
    credentialId,
    parseCredentialId,
    near('cred_', 'abcdefgh', 'x'.repeat(56)),
    'cred_abcdefgh',
  ],
  [
    'permission_id',
    permissionId,
    parsePermissionId,
    near('perm_', 'orders.v1:x', 'x'.repeat(60)),
    'perm_orders.v1:x',
  ],
  ['scope', scope, parseScope, near('orders:', 'read', 'a/b', 'x'.repeat(120)), 'orders:read'],
]

describe('identifiers', () => {
  test.each(grammars)(
    '%s: schema, documented pattern and parser agree',
    (_name, schema, parse, texts, valid) => {
      const { pattern, maxLength = Number.POSITIVE_INFINITY } = z.toJSONSchema(
        schema,
      ) as unknown as Documented
      const documented = new RegExp(pattern, 'u')
      let taken = 0
      fc.assert(
        fc.property(texts, (text) => {
          const expected = parse(text) !== undefined
          if (expected) taken++
          expect(schema.safeParse(text).success).toBe(expected)
          expect(documented.test(text) && text.length <= maxLength).toBe(expected)
        }),
        { numRuns: runs(500), examples: [[valid]] },
      )
      expect(taken).toBeGreaterThan(0)
    },
  )

  test('time: every time that is taken fits the documented pattern', () => {
    const { pattern } = z.toJSONSchema(time) as unknown as Documented
    for (const text of ['2026-11-14T12:00:00Z', '2024-02-29T23:59:59.123456789Z']) {
      expect([time.safeParse(text).success, new RegExp(pattern).test(text)]).toEqual([true, true])
    }
    for (const text of [
      '2026-02-30T00:00:00Z',
      '2026',
      '2026-11-14T24:00:00Z',
      '2026-11-14T12:00:00',
      '2026-11-14T12:00:00+00:00',
      '2026-11-14t12:00:00z',
      '',
    ]) {
      expect([time.safeParse(text).success, parseTime(text)]).toEqual([false, undefined])
    }
  })

  test('scope lists: schema and parser agree, and createDemand for none is rejected', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c:d', 'E', ''), fc.stringMatching(/^[a-z]{1,3}$/)), {
          maxLength: 40,
          size: 'max',
        }),
        (list) => {
          const expected = parseScopeList(list) !== undefined
          expect(scopeList.safeParse(list).success).toBe(expected)
          expect(someScopes.safeParse(list).success).toBe(expected && list.length > 0)
        },
      ),
    )
    const many = (n: number) => Array.from({ length: n }, (_, i) => `s${i}`)
    expect([someScopes.safeParse(many(32)).success, someScopes.safeParse(many(33)).success]).toEqual([
      true,
      false,
    ])
  })
})

describe('parseFeedCursor', () => {
  test('reads back what was written', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-z]{8,32}$/), fc.maxSafeNat(), (epoch, seq) => {
        expect(parseFeedCursor(`${epoch}.${seq}`)).toEqual({ epoch, seq })
        expect(feedCursor.safeParse(`${epoch}.${seq}`).success).toBe(true)
      }),
    )
  })

  test.each([
    'abcdefgh.9007199254740992',
    'abcdefgh.9223372036854775808',
    'abcdefgh.01',
    'abcdefgh.-1',
    'abcdefgh.1\n',
    'short.1',
    'ABCDEFGH.1',
    7,
    null,
  ])('rejects %j', (value) => {
    expect(parseFeedCursor(value)).toBeUndefined()
  })
})
