import { createHmac } from 'node:crypto'
import { parseCredentialId, parsePpid } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { createCredentialId, createId, createPairwiseSecret, derivePpid } from '../../src/keys/ids.ts'

const NOW = Date.UTC(2026, 10, 14, 12)
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

function bits(text: string): bigint {
  return [...text].reduce((sum, digit) => sum * 32n + BigInt(DIGITS.indexOf(digit)), 0n)
}

describe('createId', () => {
  it('is a prefix and a UUIDv7 in 26 characters', () => {
    const id = createId('key_', NOW)
    expect(id).toMatch(/^key_[0-9a-hjkmnp-tv-z]{26}$/)
    const uuid = bits(id.slice(4)).toString(16).padStart(32, '0')
    expect(Number.parseInt(uuid.slice(0, 12), 16)).toBe(NOW)
    expect(uuid[12]).toBe('7')
    expect(uuid[16]).toMatch(/[89ab]/)
  })

  it('sorts by time', () => {
    const ids = [NOW, NOW + 1, NOW + 1000, NOW + 1e9, NOW + 1e12].map((ms) => createId('', ms))
    expect([...ids].sort()).toEqual(ids)
  })

  it('is never the same twice', () => {
    expect(new Set(Array.from({ length: 2000 }, () => createId('', NOW))).size).toBe(2000)
  })

  it('makes credential ids that the core takes', () => {
    expect(parseCredentialId(createCredentialId(NOW))).toBeDefined()
  })
})

describe('derivePpid', () => {
  const secret = createPairwiseSecret()

  it('is the HMAC-SHA-256 of the user reference in 52 characters', () => {
    const ppid = derivePpid(secret, 'ü-ser 42')
    expect(parsePpid(ppid)).toBe(ppid)
    expect(ppid).toMatch(/^did:service:ppid_[0-9a-hjkmnp-tv-z]{52}$/)
    const mac = createHmac('sha256', Buffer.from(secret, 'base64url')).update('ü-ser 42').digest('hex')
    // 52 characters hold 260 bits: the last four are zeros.
    expect(bits(ppid.slice('did:service:ppid_'.length)) >> 4n).toBe(BigInt(`0x${mac}`))
  })

  it('is the same for the same user, and another for another user or at another site', () => {
    expect(derivePpid(secret, 'a')).toBe(derivePpid(secret, 'a'))
    expect(derivePpid(secret, 'b')).not.toBe(derivePpid(secret, 'a'))
    expect(derivePpid(createPairwiseSecret(), 'a')).not.toBe(derivePpid(secret, 'a'))
  })

  it('refuses a secret that is not one of ours', () => {
    expect(() => derivePpid('', 'a')).toThrow()
    expect(() => derivePpid('AAAA', 'a')).toThrow()
  })
})
