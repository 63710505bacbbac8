import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSealer, SealBroken } from '../../src/sealing/sealer.ts'

const masterKey = randomBytes(32)
const sealer = createSealer(masterKey)

describe('createSealer', () => {
  it('opens what it has sealed, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (plain, purpose) => {
        expect(sealer.open(purpose, sealer.seal(purpose, plain))).toBe(plain)
      }),
    )
  })

  it('opens what another process with the same master key has sealed', () => {
    expect(createSealer(Buffer.from(masterKey)).open('p', sealer.seal('p', 'secret'))).toBe('secret')
  })

  it('shows nothing of the text, and never the same twice', () => {
    const [one, two] = [sealer.seal('p', 'secret-canary'), sealer.seal('p', 'secret-canary')]
    expect(one).toMatch(/^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]+$/)
    expect(Buffer.from(one.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('canary')
    expect(one.split('.')[2]).not.toBe(two.split('.')[2])
  })

  it('does not open under another purpose', () => {
    expect(() => sealer.open('pairwise:b.example', sealer.seal('pairwise:a.example', 'x'))).toThrow(
      SealBroken,
    )
  })

  it('says so when the master key is another one', () => {
    expect(() => createSealer(randomBytes(32)).open('p', sealer.seal('p', 'x'))).toThrow('another master key')
  })

  it('does not open when any one bit has changed', () => {
    const [version, name, body] = sealer.seal('p', 'secret').split('.') as [string, string, string]
    const bytes = Buffer.from(body, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const spoiled = Buffer.from(bytes)
      spoiled[bit >> 3] = (spoiled[bit >> 3] as number) ^ (1 << (bit & 7))
      expect(() => sealer.open('p', `${version}.${name}.${spoiled.toString('base64url')}`)).toThrow(
        SealBroken,
      )
    }
  })

  it.each(['', 'v1', 'v2.00000000.AAAA', 'secret', `${sealer.seal('p', 'x')}.`])(
    'does not open %j',
    (text) => {
      expect(() => sealer.open('p', text)).toThrow(SealBroken)
    },
  )

  it('does not open a text that was cut', () => {
    const sealed = sealer.seal('p', 'secret')
    const start = sealed.lastIndexOf('.') + 1
    for (let end = start; end < sealed.length; end++)
      expect(() => sealer.open('p', sealed.slice(0, end))).toThrow(SealBroken)
  })

  it('marks the same text the same way, and another text, purpose or master key another way', () => {
    const mac = (s: typeof sealer, purpose: string, text: string) =>
      Buffer.from(s.mac(purpose, text)).toString('hex')
    expect(mac(sealer, 'list', 'abc')).toBe(mac(createSealer(masterKey), 'list', 'abc'))
    const all = [
      mac(sealer, 'list', 'abc'),
      mac(sealer, 'lista', 'bc'),
      mac(sealer, 'list', 'abd'),
      mac(createSealer(randomBytes(32)), 'list', 'abc'),
    ]
    expect(new Set(all).size).toBe(all.length)
  })

  it('refuses a master key of another length', () => {
    expect(() => createSealer(randomBytes(31))).toThrow(TypeError)
  })

  it('keeps the key it was given, should other code write over it', () => {
    const given = Buffer.from(masterKey)
    const own = createSealer(given)
    given.fill(0)
    expect(own.open('p', sealer.seal('p', 'x'))).toBe('x')
  })
})
