import { describe, expect, it } from 'vitest'
import { createMacKey, createRowMacs, isSameMac } from '../../src/sealing/row-macs.ts'

const macs = createRowMacs(createMacKey())

describe('MACs of rows', () => {
  it('are the same for the same table and values, under the same key only', () => {
    const key = createMacKey()
    const mac = createRowMacs(key).create('tokens', ['a', 1, null])
    expect(createRowMacs(key).create('tokens', ['a', 1, null])).toBe(mac)
    expect(createRowMacs(createMacKey()).create('tokens', ['a', 1, null])).not.toBe(mac)
  })

  it('differ when anything differs: the table, a value, its type, or where one value ends', () => {
    const all = [
      macs.create('a', ['b', 'c']),
      macs.create('b', ['b', 'c']),
      macs.create('a', ['bc', '']),
      macs.create('a', ['b', 'c', null]),
      macs.create('a', ['b', null, 'c']),
      macs.create('a', ['b","c']),
      macs.create('a', ['1']),
      macs.create('a', [1]),
      macs.create('a', ['null']),
      macs.create('a', [null]),
    ]
    expect(new Set(all).size).toBe(all.length)
  })

  it('are compared as a whole', () => {
    const mac = macs.create('a', ['b'])
    expect(isSameMac(mac, mac)).toBe(true)
    for (const other of [null, undefined, '', 1, mac.slice(1), `${mac}A`, macs.create('a', ['c'])])
      expect(isSameMac(other, mac)).toBe(false)
  })

  it('need a key of 32 bytes', () => {
    expect(() => createRowMacs('AAAA')).toThrow(TypeError)
  })
})
