import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJsonObject, type JsonOptions, type JsonValue, parseJson } from '../../src/encoding/json.ts'
import { decodeUtf8 } from '../../src/encoding/utf8.ts'
import { runs } from '../runs.ts'

const DEPTH = 16

function readValue(text: string): JsonValue {
  const parsed = parseJson(text, { depthMax: DEPTH })
  if ('fault' in parsed) throw new Error(`${parsed.fault} at ${parsed.offset}`)
  return parsed.value
}

/** The fault, or the value wrapped so that it cannot equal a fault. */
function findFault(text: string, options: JsonOptions = { depthMax: DEPTH }): unknown {
  const parsed = parseJson(text, options)
  return 'fault' in parsed ? parsed.fault : parsed
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

const safeNumber = fc.oneof(
  fc.maxSafeInteger(),
  fc.double({ min: -1e15, max: 1e15, noNaN: true }),
  fc.double({ min: -1, max: 1, noNaN: true }),
)
const text = fc.string({ unit: 'binary' })
const name = text.filter((key) => key !== '__proto__')
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', maxDepth: 8 },
    fc.constantFrom(null, true, false),
    safeNumber,
    text,
    fc.array(tie('json')),
    fc.dictionary(name, tie('json'), { noNullPrototype: true }),
  ),
}))

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** Writes a value as JSON with random whitespace, escapes and number formats. */
function spelled(value: JsonValue, dice: readonly number[]): string {
  let thrown = 0
  const throwDie = (sides: number) => (dice[thrown++ % dice.length] as number) % sides
  const blank = () => ['', '', '', ' ', '\n', '\r\n\t'][throwDie(6)]
  const hex = (unit: number) => {
    const digits = unit.toString(16).padStart(4, '0')
    return `\\u${throwDie(2) === 0 ? digits : digits.toUpperCase()}`
  }
  const unit = (char: string) => {
    const code = char.charCodeAt(0)
    const short = SHORT_ESCAPES[char]
    if (short !== undefined && throwDie(2) === 0) return short
    return code < 0x20 || char === '"' || char === '\\' || throwDie(8) === 0 ? hex(code) : char
  }
  const string = (content: string) => `"${[...content].map(character).join('')}"`
  // A surrogate pair is escaped completely: an escaped half next to a literal half would be a lone
  // surrogate in the text.
  const character = (char: string) =>
    char.length === 1
      ? unit(char)
      : throwDie(2) === 0
        ? char
        : hex(char.charCodeAt(0)) + hex(char.charCodeAt(1))
  const number = (content: number) => {
    const plain = String(content)
    const forms = plain.includes('e')
      ? [plain, plain.replace('e', 'E')]
      : plain.includes('.')
        ? [plain, `${plain}0`, `${plain}E+0`]
        : [plain, `${plain}.0`, `${plain}e0`, content === 0 ? '0e-2' : `${plain}00e-2`]
    return forms[throwDie(forms.length)] as string
  }
  const write = (content: JsonValue): string => {
    if (typeof content === 'string') return string(content)
    if (typeof content === 'number') return number(content)
    if (content === null || typeof content === 'boolean') return String(content)
    const inside = Array.isArray(content)
      ? content.map((entry) => blank() + write(entry) + blank())
      : Object.entries(content).map(
          ([key, entry]) => `${blank()}${string(key)}${blank()}:${blank()}${write(entry)}${blank()}`,
        )
    const all = inside.length === 0 ? blank() : inside.join(',')
    return Array.isArray(content) ? `[${all}]` : `{${all}}`
  }
  return blank() + write(value) + blank()
}

describe('what the platform reads, too', () => {
  test('is read the same, as JSON.stringify writes it', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        const written = JSON.stringify(value, null, indent)
        expect(parseJson(written, { depthMax: DEPTH })).toEqual({
          value: JSON.parse(written),
          watched: undefined,
          hasPlainStrings: !/[\\\n\t]/.test(written),
        })
      }),
    )
  })

  test('is read the same in every spelling', () => {
    fc.assert(
      fc.property(json, fc.array(fc.nat(), { minLength: 1, maxLength: 50 }), (value, dice) => {
        const written = spelled(value, dice)
        expect(JSON.stringify(readValue(written))).toBe(JSON.stringify(JSON.parse(written)))
      }),
    )
  })

  test('is read the same or rejected, whatever numbers and names there are', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary', maxDepth: 6 }), (written) => {
        const parsed = parseJson(written, { depthMax: DEPTH })
        if ('fault' in parsed)
          expect(['a number that cannot be held exactly', 'a member is called __proto__']).toContain(
            parsed.fault,
          )
        else expect(JSON.stringify(parsed.value)).toBe(JSON.stringify(JSON.parse(written)))
      }),
    )
  })

  test('reads words, and nothing that only begins like one', () => {
    expect(readValue('[true,false,null]')).toEqual([true, false, null])
    expect(findFault('nul')).toBe('not a JSON value')
    expect(findFault('[True]')).toBe('not a JSON value')
    expect(findFault('[truee]')).toBe('a comma or a closing bracket is missing')
    expect(findFault('nulll')).toBe('text after the end')
  })

  test('makes ordinary objects, also of members with names of the object prototype', () => {
    const value = readValue('{"constructor":1,"toString":{"hasOwnProperty":2}}')
    expect(value).toStrictEqual({ constructor: 1, toString: { hasOwnProperty: 2 } })
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  })
})

describe('what the platform rejects', () => {
  const token = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '"b":',
    '\\',
    '\\u00',
    '0',
    '1',
    '-',
    '.',
    'e',
    '+',
    'true',
    'null',
    ' ',
    '\n',
    '\u00a0',
    '\ufeff',
  )

  function agreesWithPlatform(written: string): void {
    let platform: { value: unknown } | undefined
    try {
      platform = { value: JSON.parse(written) }
    } catch {}
    const parsed = parseJson(written, { depthMax: DEPTH })
    if ('fault' in parsed) {
      expect(parsed.offset).toBeGreaterThanOrEqual(0)
      // The offset after the last character if the text ends too early.
      expect(parsed.offset).toBeLessThanOrEqual(written.length + 1)
      return
    }
    expect(platform).toBeDefined()
    expect(JSON.stringify(parsed.value)).toBe(JSON.stringify(platform?.value))
  }

  test('is rejected: any heap of tokens', () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), (tokens) => agreesWithPlatform(tokens.join(''))),
      { numRuns: runs(2000) },
    )
  })

  test('is rejected: a sound text with one place changed', () => {
    fc.assert(
      fc.property(json, fc.nat(), token, fc.nat(1), (value, place, other, cut) => {
        const written = JSON.stringify(value)
        const at = place % (written.length + 1)
        agreesWithPlatform(written.slice(0, at) + other + written.slice(at + cut))
      }),
      { numRuns: runs(500) },
    )
  })

  // A line break anywhere makes the reader look at each character of each string.
  test('is read or rejected alike with and without a line break before it', () => {
    fc.assert(
      fc.property(json, fc.nat(), token, fc.nat(1), (value, place, other, cut) => {
        const written = JSON.stringify(value)
        const at = place % (written.length + 1)
        const changed = written.slice(0, at) + other + written.slice(at + cut)
        const options = { depthMax: DEPTH, watch: Object.keys(value ?? {})[0] ?? '' }
        const plain = parseJson(changed, options)
        const moved = parseJson(`\n${changed}`, options)
        if ('value' in plain) {
          const { start, end } = plain.watched ?? {}
          const watched =
            start === undefined || end === undefined ? undefined : { start: start + 1, end: end + 1 }
          expect(moved).toEqual({ ...plain, watched, hasPlainStrings: false })
        } else {
          // A lone surrogate that is not escaped is found before the text is read.
          const isAtStart = !changed.isWellFormed()
          expect(moved).toEqual({ ...plain, offset: isAtStart ? 0 : plain.offset + 1 })
        }
      }),
      { numRuns: runs(2000) },
    )
  })

  test('never makes the reader throw, whatever the bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ unit: 'binary', maxLength: 50 }).map((content) => new TextEncoder().encode(content)),
    )
    fc.assert(
      fc.property(bytes, (content) => {
        const decoded = decodeUtf8(content)
        if (decoded !== undefined) agreesWithPlatform(decoded)
      }),
    )
  })

  test.each([
    ['', 'the text ends too early'],
    ['  \n', 'the text ends too early'],
    ['{"a":', 'the text ends too early'],
    ['[1,', 'the text ends too early'],
    ['[', 'the text ends too early'],
    ['{', 'a member name is missing'],
    ['{"a":1,', 'a member name is missing'],
    ['{"a":1,}', 'a member name is missing'],
    ['{a:1}', 'a member name is missing'],
    ["{'a':1}", 'a member name is missing'],
    ['{1:1}', 'a member name is missing'],
    ['{"a" 1}', 'a colon is missing'],
    ['{"a"', 'a colon is missing'],
    ['{"a":1', 'a comma or a closing brace is missing'],
    ['{"a":1 "b":2}', 'a comma or a closing brace is missing'],
    ['{"a":1]', 'a comma or a closing brace is missing'],
    ['[1', 'a comma or a closing bracket is missing'],
    ['[1 2]', 'a comma or a closing bracket is missing'],
    ['[1}', 'a comma or a closing bracket is missing'],
    ['[1,]', 'not a JSON value'],
    ['[,1]', 'not a JSON value'],
    ['{"a":}', 'not a JSON value'],
    ['undefined', 'not a JSON value'],
    ['// note\n1', 'not a JSON value'],
    ['/* note */1', 'not a JSON value'],
    ["'a'", 'not a JSON value'],
    ['NaN', 'not a JSON value'],
    ['Infinity', 'not a JSON value'],
    ['-Infinity', 'not a number'],
    ['"', 'a string does not end'],
    ['"abc', 'a string does not end'],
    ['"abc\\', 'an unknown escape in a string'],
    ['"abc\\n', 'a string does not end'],
    ['"a\nb"', 'a control character in a string'],
    ['"\u0000"', 'a control character in a string'],
    ['"\u001f"', 'a control character in a string'],
    ['"\\t\u001f"', 'a control character in a string'],
    ['"\\x41"', 'an unknown escape in a string'],
    ['"\\\'"', 'an unknown escape in a string'],
    ['"\\U0041"', 'an unknown escape in a string'],
    ['"\\u004"', 'an unknown escape in a string'],
    ['"\\u00g1"', 'an unknown escape in a string'],
    ['"\\u+041"', 'an unknown escape in a string'],
    ['"\\u 041"', 'an unknown escape in a string'],
    ['"\\u{41}"', 'an unknown escape in a string'],
    ['"\\u004\n"', 'an unknown escape in a string'],
  ])('%j: %s', (written, fault) => {
    expect(findFault(written)).toBe(fault)
  })

  test('also inside: a fault in an inner value is the fault of the whole', () => {
    expect(findFault('[[1 2],[1,]]')).toBe('a comma or a closing bracket is missing')
    expect(findFault('{"a":{"b":[{"c":tru}]}}')).toBe('not a JSON value')
  })

  test('takes characters right next to the control characters', () => {
    expect(readValue('" \u007f\u0080"')).toBe(' \u007f\u0080')
    expect(readValue('"\\/ \u007f"')).toBe('/ \u007f')
  })

  test('A030 rejects anything after the end but blanks', () => {
    expect(findFault('{} {}')).toBe('text after the end')
    expect(findFault('{}x')).toBe('text after the end')
    expect(findFault('[]\u0000')).toBe('text after the end')
    expect(findFault('1 2')).toBe('text after the end')
    expect(readValue('{}\n\r\t ')).toEqual({})
  })

  test('rejects a byte order mark, and blanks that are none in JSON', () => {
    expect(findFault('\ufeff{}')).toBe('not a JSON value')
    expect(findFault('{}\ufeff')).toBe('text after the end')
    for (const blank of ['\u00a0', '\u2028', '\u3000', '\v', '\f', '\u0000', '\u0085']) {
      expect(findFault(`${blank}{}`)).toBe('not a JSON value')
      expect(findFault(`[${blank}1]`)).toBe('not a JSON value')
      expect(findFault(`{${blank}"a":1}`)).toBe('a member name is missing')
    }
  })
})

describe('two members of one name', () => {
  test.each([
    ['plain', '{"a":1,"a":1}'],
    ['one with an escape', '{"a":1,"\\u0061":2}'],
    ['the first with an escape', '{"\\u0061":1,"a":2}'],
    ['both with escapes, in different cases', '{"\\u006A":1,"\\u006a":2}'],
    ['with others between', '{"a":1,"b":2,"c":3,"a":4}'],
    ['the empty name', '{"":1,"":2}'],
    ['A020 five levels down', '{"a":{"b":{"c":{"d":{"e":1,"e":2}}}}}'],
    ['inside an array', '[{"a":1,"a":2}]'],
    ['a name of the object prototype', '{"toString":1,"toString":2}'],
    ['a surrogate pair and its escapes', '{"\ud83d\ude00":1,"\\ud83d\\ude00":2}'],
    ['an integer', '{"1":1,"1":2}'],
    ['a slash and its escape', '{"/":1,"\\/":2}'],
  ])('are rejected: %s', (_, written) => {
    expect(findFault(written)).toBe('two members have the same name')
  })

  test('are no two when they differ in case, in normal form or in place', () => {
    expect(readValue('{"a":1,"A":2}')).toEqual({ a: 1, A: 2 })
    expect(readValue('{"\u00e9":1,"e\u0301":2}')).toEqual({ '\u00e9': 1, 'e\u0301': 2 })
    expect(readValue('{"a":{"a":1},"b":{"a":2}}')).toEqual({ a: { a: 1 }, b: { a: 2 } })
    expect(readValue('{"1":1,"01":2}')).toEqual({ '1': 1, '01': 2 })
  })
})

describe('A021 a member called __proto__', () => {
  test.each([
    '{"__proto__":{"scope":["x"]}}',
    '{"a":{"__proto__":1}}',
    '[{"b":1,"__proto__":null}]',
    '{"\\u005f_proto__":1}',
    '{"__proto\\u005F\\u005f":1}',
  ])('is rejected: %s', (written) => {
    expect(findFault(written)).toBe('a member is called __proto__')
    expect(({} as { scope?: unknown }).scope).toBeUndefined()
  })

  test('is no fault as a value, or with another name around it', () => {
    expect(readValue('{"a":"__proto__","__proto":1,"__proto___":2}')).toEqual({
      a: '__proto__',
      __proto: 1,
      __proto___: 2,
    })
  })
})

describe('lone surrogates', () => {
  test.each([
    ['a high one, escaped', '"\\ud83d"'],
    ['a low one, escaped', '"\\ude00"'],
    ['the wrong way round', '"\\ude00\\ud83d"'],
    ['two high ones', '"\\ud83d\\ud83d\\ude00"'],
    ['a high one before a letter', '"\\uD83Da"'],
    ['in a name', '{"\\ud83d":1}'],
    ['raw', '"\ud83d"'],
    ['raw, in a name', '{"\ude00":1}'],
    ['raw, outside of any string', '[\ud83d]'],
    ['half raw, half escaped', '"\ud83d\\ude00"'],
  ])('are rejected: %s', (_, written) => {
    expect(findFault(written)).toBe('a lone surrogate')
  })

  test('are no fault in pairs, raw or escaped', () => {
    expect(readValue('["\ud83d\ude00","\\ud83d\\ude00","\\uD83D\\uDE00"]')).toEqual([
      '\u{1f600}',
      '\u{1f600}',
      '\u{1f600}',
    ])
    expect(readValue('["\\ud7ff","\\ue000","\\uffff"]')).toEqual(['\ud7ff', '\ue000', '\uffff'])
  })
})

describe('depth', () => {
  test('is counted with the outermost container as one, in arrays and objects alike', () => {
    expect(findFault(nested(16))).toHaveProperty('value')
    expect(findFault(nested(17))).toBe('more than 16 levels deep')
    expect(findFault(`${'{"a":'.repeat(15)}{}${'}'.repeat(15)}`)).toHaveProperty('value')
    expect(findFault(`${'{"a":'.repeat(16)}{}${'}'.repeat(16)}`)).toBe('more than 16 levels deep')
    expect(findFault(`${'[{"a":'.repeat(8)}1${'}]'.repeat(8)}`)).toHaveProperty('value')
    expect(findFault(`${'[{"a":'.repeat(8)}[]${'}]'.repeat(8)}`)).toBe('more than 16 levels deep')
  })

  test('is left again with each container that ends', () => {
    const side = [
      nested(15),
      `${'{"a":'.repeat(14)}{}${'}'.repeat(14)}`,
      `${'{"a":['.repeat(7)}1${']}'.repeat(7)}`,
    ]
    expect(findFault(`[${[...side, ...side, ...side].join(',')}]`)).toHaveProperty('value')
  })

  test('is what the caller says it is', () => {
    expect(findFault('1', { depthMax: 0 })).toHaveProperty('value')
    expect(findFault('[]', { depthMax: 0 })).toBe('more than 0 levels deep')
    expect(findFault('{}', { depthMax: 0 })).toBe('more than 0 levels deep')
    expect(findFault(nested(3), { depthMax: 3 })).toHaveProperty('value')
    expect(findFault(nested(4), { depthMax: 3 })).toBe('more than 3 levels deep')
  })

  test.each([5_000, 100_000])('A031 does no harm: %i brackets', (brackets) => {
    expect(findFault(nested(brackets))).toBe('more than 16 levels deep')
    expect(findFault('['.repeat(brackets))).toBe('more than 16 levels deep')
    expect(findFault('{"a":'.repeat(brackets))).toBe('more than 16 levels deep')
    expect(parseJson('['.repeat(brackets), { depthMax: DEPTH })).toHaveProperty('offset', 16)
  })
})

describe('isJsonObject', () => {
  test('knows an object from everything else', () => {
    expect(isJsonObject({})).toBe(true)
    for (const other of [null, undefined, [], [{}], 'a', 1, true]) expect(isJsonObject(other)).toBe(false)
  })
})

describe('members of one object (S7, A222)', () => {
  const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join(',')}}`

  test('are at most 256, unless the caller says otherwise', () => {
    expect(findFault(members(256))).toHaveProperty('value')
    expect(findFault(members(257))).toBe('an object has too many members')
    expect(findFault(members(3), { depthMax: DEPTH, membersMax: 3 })).toHaveProperty('value')
    expect(findFault(members(4), { depthMax: DEPTH, membersMax: 3 })).toBe('an object has too many members')
  })
  test('are counted for each object, wherever it stands', () => {
    const options = { depthMax: DEPTH, membersMax: 3 }
    expect(findFault(`[${members(3)},${members(3)},{"a":${members(3)}}]`, options)).toHaveProperty('value')
    expect(findFault(`[${members(3)},{"a":[${members(4)}]}]`, options)).toBe('an object has too many members')
  })
  test('may be more in the watched member, and in no other', () => {
    const options = { depthMax: DEPTH, membersMax: 3, watch: 'w', watchedMembersMax: 5 }
    expect(findFault(`{"a":${members(3)},"w":[${members(5)}],"b":${members(3)}}`, options)).toHaveProperty(
      'value',
    )
    for (const text of [
      `{"w":${members(6)}}`,
      `{"a":${members(4)}}`,
      `{"w":${members(5)},"b":${members(4)}}`,
      `{"a":{"w":${members(4)}}}`,
      members(4).replace('k0', 'w'),
    ]) {
      expect(findFault(text, options)).toBe('an object has too many members')
    }
  })
})
