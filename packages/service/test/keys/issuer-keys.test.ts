import { type DidKey, didKey, generatePrivateKey, type KeyState, type PublicKey } from '@countersign/core'
import { beforeAll, describe, expect, it } from 'vitest'
import { nextKeyStates, readOwnKeys, readPinnedKeys, sameKeyStates } from '../../src/keys/issuer-keys.ts'

let one: PublicKey
let two: PublicKey
beforeAll(async () => {
  one = (await generatePrivateKey('Ed25519')).publicKey
  two = (await generatePrivateKey('P-256')).publicKey
})

const named = (id: string, key: PublicKey): DidKey => ({ id, key })
const active = (id: string, key: PublicKey): KeyState => ({ id, key: key.multikey, status: 'active' })
const retired = (id: string, key: PublicKey): KeyState => ({
  id,
  key: key.multikey,
  status: 'retired',
  retired_at: '2026-11-14T12:00:00Z',
})
const compromised = (id: string, key: PublicKey): KeyState => ({
  id,
  key: key.multikey,
  status: 'compromised',
})

describe('nextKeyStates', () => {
  it('lets a new key in as active', () => {
    expect(nextKeyStates([], [named('a', one)])).toEqual([active('a', one)])
  })

  it('keeps a retired key retired, since the same moment', () => {
    expect(nextKeyStates([retired('a', one)], [named('a', one)])).toEqual([retired('a', one)])
  })

  it('drops a key that is not named any more', () => {
    expect(nextKeyStates([active('a', one), active('b', two)], [named('b', two)])).toEqual([active('b', two)])
    expect(nextKeyStates([active('a', one)], [])).toEqual([])
  })

  it('takes other material under a known name for a new key', () => {
    expect(nextKeyStates([retired('a', one)], [named('a', two)])).toEqual([active('a', two)])
  })

  it('never forgets a compromised key', () => {
    expect(nextKeyStates([compromised('a', one)], [named('b', two)])).toEqual([
      active('b', two),
      compromised('a', one),
    ])
  })

  it('accepts nothing under the name of a compromised key', () => {
    expect(nextKeyStates([compromised('a', one)], [named('a', two)])).toEqual([compromised('a', one)])
  })

  it('knows the material of a compromised key under any name', () => {
    expect(nextKeyStates([compromised('a', one)], [named('b', one)])).toEqual([
      compromised('b', one),
      compromised('a', one),
    ])
  })

  it('refuses more than 32', () => {
    const wanted = Array.from({ length: 32 }, (_, i) => named(`k${i}`, one))
    expect(nextKeyStates([], wanted)).toHaveLength(32)
    expect(nextKeyStates([compromised('a', two)], wanted)).toBeUndefined()
  })
})

describe('sameKeyStates', () => {
  it('does not look at the order, and at everything else', () => {
    const states = [active('a', one), retired('b', two)]
    expect(sameKeyStates(states, [...states].reverse())).toBe(true)
    expect(sameKeyStates(states, [active('a', one)])).toBe(false)
    expect(sameKeyStates([active('a', one)], [active('a', two)])).toBe(false)
    expect(sameKeyStates([active('a', one)], [active('b', one)])).toBe(false)
    expect(sameKeyStates([active('a', one)], [compromised('a', one)])).toBe(false)
  })
})

describe('reading keys', () => {
  it('calls a pinned key by its Multikey, or as the issuer does', () => {
    expect(readPinnedKeys([one.multikey])).toMatchObject([{ id: one.multikey }])
    expect(readPinnedKeys([two.multikey, one.multikey], [active('key-1', one)])).toMatchObject([
      { id: two.multikey },
      { id: 'key-1' },
    ])
  })

  it('says which of several is not accepted', () => {
    expect(readPinnedKeys([one.multikey, 'z6MkNot'])).toMatchObject({ at: 1 })
  })

  it('A050: refuses a DID whose key is of low order', () => {
    const didOf = (x: string) =>
      `did:jwk:${Buffer.from(JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x })).toString('base64url')}`
    const sound = Buffer.from(one.bytes)
    expect(readOwnKeys(didOf(sound.toString('base64url')))).toMatchObject([{ id: '0' }])
    expect(readOwnKeys(didOf(Buffer.alloc(32).toString('base64url')))).toHaveProperty('fault')
  })

  it('takes the key out of a did:key', () => {
    expect(readOwnKeys(didKey(one))).toMatchObject([{ id: one.multikey }])
    expect(readOwnKeys('did:key:z6Mk')).toHaveProperty('fault')
  })
})
