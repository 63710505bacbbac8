import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Scope } from '../../src/credential/ids.ts'
import type { JsonObject, JsonValue } from '../../src/encoding/json.ts'
import { verify } from '../../src/verify/verify.ts'
import { newChain, showLink } from '../chain.ts'
import { runs } from '../runs.ts'
import {
  createData,
  createDemand,
  type Editable,
  edited,
  issue,
  newParty,
  type Party,
  PlainSite,
  rawHeader,
  shown,
  trusted,
} from '../sample.ts'

let issuer: Party
let site: PlainSite
let good: JsonObject
beforeAll(async () => {
  issuer = await newParty()
  site = new PlainSite(trusted(issuer))
  good = await issue(issuer)
})

const ALL = ['a', 'b', 'c', 'd', 'e'] as Scope[]
const anyScope = fc.subarray(ALL, { minLength: 1 })

describe('scope never grows along a chain (I-11)', () => {
  test('whatever the links claim, what is granted is in every link above and in the cap', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyScope, { minLength: 1, maxLength: 4 }),
        fc.option(anyScope, { nil: undefined }),
        async (scopes, cap) => {
          const chain = await newChain(
            issuer,
            scopes.length - 1,
            (i, c) => void (c.credentialSubject.scope = scopes[i]),
          )
          const known = new PlainSite(trusted(issuer, { scope: cap && new Set(cap) }))
          const { presented, demand } = await showLink(chain)
          const verdict = await verify(presented, { ...demand, scope: [] }, createData(known))
          const narrows = scopes.every(
            (scope, i) => i === 0 || scope.every((s) => scopes[i - 1]?.includes(s)),
          )
          const left = (scopes.at(-1) ?? []).filter((s) => cap === undefined || cap.includes(s))
          if (!narrows) expect(verdict).toMatchObject({ code: 'delegation_invalid' })
          else if (left.length === 0) expect(verdict).toMatchObject({ code: 'scope_insufficient' })
          else expect(verdict).toMatchObject({ ok: true, subject: { scope: left } })
        },
      ),
      { numRuns: runs(60) },
    )
  })

  test('a demand is met only by a scope that holds all of it', async () => {
    await fc.assert(
      fc.asyncProperty(anyScope, fc.subarray(ALL), async (held, needed) => {
        const document = await issue(issuer, { scope: held })
        const verdict = await verify(shown(document), createDemand({ scope: needed }), createData(site))
        expect(verdict.ok).toBe(needed.every((s) => held.includes(s)))
      }),
      { numRuns: runs(60) },
    )
  })
})

describe('any single change is rejected', () => {
  test('of every byte of the signed credential', { tags: 'long' }, async () => {
    const bytes = Buffer.from(JSON.stringify(good))
    for (let at = 0; at < bytes.length; at++) {
      const old = bytes[at] as number
      for (const changed of [old ^ 1, old ^ 0x20, 0x30]) {
        if (changed === old) continue
        const copy = Buffer.from(bytes)
        copy[at] = changed
        expect(
          await verify(rawHeader(copy), createDemand(), createData(site)),
          `byte ${at} to ${changed}`,
        ).toMatchObject({ ok: false })
      }
    }
  })

  test('of every character of the header', async () => {
    const { header } = shown(good)
    for (let at = 0; at < header.length; at++) {
      const changed = header[at] === 'A' ? 'B' : 'A'
      const text = header.slice(0, at) + changed + header.slice(at + 1)
      expect(
        await verify({ header: text }, createDemand(), createData(site)),
        `character ${at}`,
      ).toMatchObject({
        ok: false,
      })
    }
  })

  test('also a byte left out or put in anywhere', async () => {
    const bytes = Buffer.from(JSON.stringify(good))
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: bytes.length - 1 }),
        fc.option(fc.integer({ min: 0x21, max: 0xff })),
        async (at, extra) => {
          // "\/" is the same string as "/".
          fc.pre(!(extra === 0x5c && bytes[at] === 0x2f))
          const inserted = extra === null ? [] : [extra]
          const changed = Buffer.from([
            ...bytes.subarray(0, at),
            ...inserted,
            ...bytes.subarray(extra === null ? at + 1 : at),
          ])
          expect(await verify(rawHeader(changed), createDemand(), createData(site))).toMatchObject({
            ok: false,
          })
        },
      ),
      { numRuns: runs(400) },
    )
  })
})

describe('verdicts do not depend on spelling (I-14)', () => {
  /**
   * The same value with its members in another order, and whitespace and escapes wherever JSON
   * allows them.
   */
  function respell(value: JsonValue, choose: () => number): string {
    const blank = () => ['', ' ', '\n', '\t\r '][choose() % 4]
    if (typeof value === 'string') {
      const letters = [...JSON.stringify(value).slice(1, -1)]
      const at = choose() % 7 === 0 && !value.includes('\\') ? choose() % Math.max(1, letters.length) : -1
      return `"${letters.map((l, i) => (i === at && l.length === 1 ? `\\u${l.charCodeAt(0).toString(16).padStart(4, '0')}` : l)).join('')}"`
    }
    if (Array.isArray(value)) return `[${blank()}${value.map((v) => respell(v, choose)).join(`${blank()},`)}]`
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    const entries = Object.entries(value)
    for (let i = entries.length - 1; i > 0; i--) {
      const j = choose() % (i + 1)
      ;[entries[i], entries[j]] = [entries[j] as never, entries[i] as never]
    }
    return `{${blank()}${entries.map(([k, v]) => `${respell(k, choose)}${blank()}:${blank()}${respell(v, choose)}`).join(`,${blank()}`)}${blank()}}`
  }

  const spoilings: [string, (c: Editable) => void][] = [
    ['good', () => undefined],
    ['another site', (c) => (c.credentialSubject.site_id = 'x')],
    ['no end', (c) => delete c.validUntil],
    ['two proofs', (c) => (c.proof = [c.proof, c.proof])],
    ['an unknown issuer', (c) => (c.issuer = 'did:web:x.example')],
    ['a number', (c) => (c.n = 0.1)],
  ]

  test.each(spoilings)('%s', async (_, spoil) => {
    const document = edited(good, spoil)
    const plain = await verify(shown(document), createDemand(), createData(site))
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), async (choices) => {
        const text = respell(document, () => choices.next().value as number)
        expect(JSON.parse(text)).toEqual(document)
        const verdict = await verify(rawHeader(text), createDemand(), createData(site))
        expect({ ...verdict, detail: '' }).toEqual({ ...plain, detail: '' })
      }),
      { numRuns: runs(60) },
    )
  })
})
