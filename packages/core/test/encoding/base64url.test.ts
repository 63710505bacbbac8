import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import * as withBuffer from '../../src/encoding/base64url.ts'
import { runs } from '../runs.ts'
import { hex } from '../vectors.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * The module selects its implementation when it is loaded, so it is loaded again without Buffer.
 */
let withoutBuffer: typeof withBuffer
beforeAll(async () => {
  vi.resetModules()
  vi.stubGlobal('Buffer', undefined)
  try {
    withoutBuffer = await import('../../src/encoding/base64url.ts')
  } finally {
    vi.unstubAllGlobals()
  }
})
afterAll(() => {
  vi.resetModules()
})

const decoded = (module: typeof withBuffer, text: string) => {
  const bytes = module.decodeBase64url(text)
  return bytes && hex(bytes)
}

test('is the module without Buffer that is tested next to the one with it', () => {
  const from = vi.spyOn(Buffer, 'from')
  try {
    withoutBuffer.decodeBase64url(withoutBuffer.encodeBase64url(Uint8Array.of(1, 2, 3)))
    expect(from).not.toHaveBeenCalled()
    withBuffer.decodeBase64url('AQID')
    expect(from).toHaveBeenCalled()
  } finally {
    from.mockRestore()
  }
})

describe.each([
  ['with Buffer', () => withBuffer],
  ['without Buffer', () => withoutBuffer],
])('base64url %s', (_, module) => {
  const decode = (text: string) => decoded(module(), text)
  const encode = (bytes: Uint8Array) => module().encodeBase64url(bytes)

  test('writes what Buffer writes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(encode(bytes)).toBe(Buffer.from(bytes).toString('base64url'))
      }),
    )
  })

  test('reads what it has written', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(decode(encode(bytes))).toBe(hex(bytes))
      }),
    )
  })

  test('writes only the part that a view shows of its buffer', () => {
    expect(encode(Uint8Array.of(0, 1, 2, 3, 4, 5).subarray(2, 4))).toBe('AgM')
  })

  test.each([
    ['', ''],
    ['AA', '00'],
    ['Zg', '66'],
    ['Zm8', '666f'],
    ['Zm9v', '666f6f'],
    ['Zm9vYg', '666f6f62'],
    ['-_-_', 'fbffbf'],
    ['____', 'ffffff'],
  ])('reads %j', (text, bytes) => {
    expect(decode(text)).toBe(bytes)
  })

  test.each([
    ['A004 padding', 'Zg=='],
    ['A004 padding of one', 'Zm8='],
    ['half the padding', 'Zg='],
    ['padding alone', '='],
    ['padding that is not needed', 'Zm9v='],
    ['A003 the plus of the other alphabet', '-_-+'],
    ['A003 the slash of the other alphabet', '-_/_'],
    ['a space in front', ' Zm9v'],
    ['a space behind', 'Zm9v '],
    ['a space within', 'Zm 9v'],
    ['a newline at the end', 'Zm9v\n'],
    ['a line break within', 'Zm9v\r\nZm9v'],
    ['a tab', '\tZm9v'],
    ['a comma, as between two headers', 'Zm9v,Zm9v'],
    ['a full stop, as in a JWT', 'Zm9v.Zm9v.Zm9v'],
    ['NUL', 'Zm9v\u0000'],
    ['junk that Node skips', 'Zm9v!'],
    ['junk in place of a character', 'Zm*v'],
    ['a character beyond ASCII', 'Zm9\u00e9'],
    ['full-width letters', '\uff3am9v'],
    ['a character whose low byte is a letter', 'Zm9\u0176'],
    ['a surrogate pair', '\u{1f600}'],
    ['a lone surrogate', 'Zm9\ud800'],
    ['one character', 'A'],
    ['one character too many', 'Zm9vA'],
    ['one character too many, further on', 'Zm9vZm9vA'],
  ])('rejects %s', (_name, text) => {
    expect(decode(text)).toBeUndefined()
  })

  test('takes only zeros in the unused bits, two characters after a full group', () => {
    for (const prefix of ['', 'Zm9v']) {
      const good = [...ALPHABET].filter((last) => decode(`${prefix}A${last}`) !== undefined)
      expect(good.join('')).toBe('AQgw')
    }
  })

  test('takes only zeros in the unused bits, three characters after a full group', () => {
    for (const prefix of ['', 'Zm9v']) {
      const good = [...ALPHABET].filter((last) => decode(`${prefix}AA${last}`) !== undefined)
      expect(good.join('')).toBe('AEIMQUYcgkosw048')
    }
  })

  test('takes every last character of a full group', () => {
    expect([...ALPHABET].filter((last) => decode(`AAA${last}`) === undefined)).toEqual([])
  })

  test('knows one text for each run of bytes', () => {
    const text = fc.string({
      unit: fc.constantFrom(...ALPHABET, '=', '+', '/', ' ', '\n', '.'),
      maxLength: 12,
    })
    fc.assert(
      fc.property(text, (written) => {
        const bytes = module().decodeBase64url(written)
        if (bytes !== undefined) expect(encode(bytes)).toBe(written)
        else
          expect(
            /^[A-Za-z0-9_-]*$/.test(written) &&
              Buffer.from(written, 'base64url').toString('base64url') === written,
          ).toBe(false)
      }),
      { numRuns: runs(500) },
    )
  })
})

describe('the two ways', () => {
  const likely = fc.string({ unit: fc.constantFrom(...ALPHABET), maxLength: 40 })
  const spoiled = fc
    .tuple(likely, fc.string({ unit: 'binary', maxLength: 1 }), likely)
    .map((parts) => parts.join(''))

  test('read every text alike', () => {
    fc.assert(
      fc.property(fc.oneof(likely, spoiled, fc.string({ unit: 'binary' }), fc.base64String()), (text) => {
        expect(decoded(withoutBuffer, text)).toBe(decoded(withBuffer, text))
      }),
      { numRuns: runs(1000) },
    )
  })

  test('write all bytes alike', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(withoutBuffer.encodeBase64url(bytes)).toBe(withBuffer.encodeBase64url(bytes))
      }),
    )
  })
})
