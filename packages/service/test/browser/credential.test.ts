import { describe, expect, it } from 'vitest'
import {
  type CredentialFacts,
  findMisfit,
  parseCredential,
  parseFacts,
} from '../../src/browser/credential.ts'
import { describeScope, describeScopes, fill } from '../../src/browser/describe.ts'
import { issued, NOW, newParty } from '../party.ts'

const issuer = await newParty()
const holder = await newParty()
const { document, header, id, ppid } = await issued(issuer)

describe('reading a credential in the browser', () => {
  it('gives the same facts from JSON, from the header, and from a header that was broken into lines', () => {
    const facts = parseFacts(document)
    expect(facts).toMatchObject({
      id,
      ppid,
      siteId: 'a.example',
      scope: ['orders:read', 'orders:write'],
      holderKey: undefined,
    })
    expect(facts?.validUntilMs).toBe(NOW + 3_600_000)
    for (const text of [
      JSON.stringify(document),
      ` ${JSON.stringify(document, undefined, 2)}\n`,
      header,
      header.replaceAll(/.{40}/g, '$&\r\n '),
    ]) {
      expect(parseCredential(text)).toEqual(facts)
    }
  })

  it('gives nothing for anything else', () => {
    const { credentialSubject: _, ...headless } = document
    for (const text of [
      '',
      'x',
      '{',
      '{}',
      '[]',
      'null',
      '"x"',
      '{"id":1}',
      JSON.stringify(headless),
      'ä'.repeat(8),
      `${header}=x`,
    ]) {
      expect(parseCredential(text), text.slice(0, 20)).toBeUndefined()
    }
    expect(parseCredential(JSON.stringify({ ...document, validUntil: 'soon' }))).toBeUndefined()
  })
})

describe('whether a credential will do', () => {
  const facts = parseFacts(document) as CredentialFacts
  const wanted = { siteId: 'a.example', scope: ['orders:read'] }
  const none = () => false

  it('is told before anything is sent, the same way as the service would', () => {
    expect(findMisfit(facts, wanted, NOW, none)).toBeUndefined()
    expect(findMisfit(facts, { ...wanted, scope: null }, NOW, none)).toBeUndefined()
    expect(findMisfit(facts, { ...wanted, siteId: 'b.example' }, NOW, none)).toEqual({
      kind: 'siteMismatch',
      other: 'a.example',
    })
    expect(findMisfit(facts, { ...wanted, scope: ['orders:read', 'x'] }, NOW, none)).toEqual({
      kind: 'scopeMissing',
      missing: ['x'],
    })
  })

  it('ends at the very millisecond of its end, and begins with the leeway of a verifier', () => {
    expect(findMisfit(facts, wanted, facts.validUntilMs - 1, none)).toBeUndefined()
    expect(findMisfit(facts, wanted, facts.validUntilMs, none)).toEqual({
      kind: 'expired',
      atMs: facts.validUntilMs,
    })
    expect(findMisfit(facts, wanted, facts.validFromMs - 10_000, none)).toBeUndefined()
    expect(findMisfit(facts, wanted, facts.validFromMs - 10_001, none)).toEqual({
      kind: 'notYet',
      atMs: facts.validFromMs,
    })
  })

  it('depends on whether its key is here', () => {
    const bound = { ...facts, holderKey: holder.did }
    expect(findMisfit(bound, wanted, NOW, none)).toEqual({ kind: 'keyElsewhere' })
    expect(findMisfit(bound, wanted, NOW, (did) => did === holder.did)).toBeUndefined()
  })
})

describe('words', () => {
  const words = {
    verbs: {
      read: 'See {what}',
      write: 'Change {what}',
      both: 'See and change {what}',
      admin: 'Manage {what}',
    },
    nouns: { orders: 'your orders' },
  }

  it('stand for a scope where there are some, and are the scope itself where there are none', () => {
    expect(describeScope('orders:read', words)).toBe('See your orders')
    expect(describeScope('shop/house-keys:old_ones:admin', words)).toBe('Manage shop house keys old ones')
    for (const scope of [
      'orders:juggle',
      'read',
      ':read',
      'orders',
      'x:constructor',
      'x:__proto__',
      'a:toString',
    ])
      expect(describeScope(scope, words)).toBe(scope)
  })

  it('put reading and writing the same thing into one entry', () => {
    expect(describeScopes(['orders:read', 'x:read', 'orders:write', 'orders:juggle'], words)).toEqual([
      'See and change your orders',
      'See x',
      'orders:juggle',
    ])
  })

  it('are filled in once, and what is filled in is not looked at again', () => {
    expect(fill('{a} and {b} and {a}', { a: '{b}', b: '2' })).toBe('{b} and 2 and {b}')
    expect(fill('{toString} {missing}', {})).toBe('{toString} {missing}')
    expect(fill('{a}', { a: '$& $1' })).toBe('$& $1')
  })
})
