import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type ParsedJson, parseJson } from '../../src/encoding/json.ts'
import { decodeUtf8 } from '../../src/encoding/utf8.ts'

const FOLDER = join(import.meta.dirname, '../../../../vectors/json-parsing')
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
const named = (prefix: string) => files.filter((name) => name.startsWith(prefix))

/**
 * Valid JSON that we reject, and why. The numbers are beyond 2^53 − 1, where a double can be more
 * than one integer.
 */
const REJECTED_ON_PURPOSE: Readonly<Record<string, string>> = {
  'y_number.json': 'a number that cannot be held exactly',
  'y_number_real_capital_e.json': 'a number that cannot be held exactly',
  'y_number_real_exponent.json': 'a number that cannot be held exactly',
  'y_number_real_fraction_exponent.json': 'a number that cannot be held exactly',
  'y_object_duplicated_key.json': 'two members have the same name',
  'y_object_duplicated_key_and_value.json': 'two members have the same name',
  'y_object_extreme_numbers.json': 'a number that cannot be held exactly',
}

/** Parsed like every credential: bytes, UTF-8, strict JSON. */
function read(name: string): { text: string | undefined; result: ParsedJson | string } {
  const text = decodeUtf8(readFileSync(join(FOLDER, name)))
  if (text === undefined) return { text, result: 'not UTF-8' }
  const parsed = parseJson(text, { depthMax: 16 })
  return { text, result: 'fault' in parsed ? parsed.fault : parsed }
}

/** The result of `JSON.parse`, except that -0 becomes 0. */
function platformValue(text: string | undefined): unknown {
  return JSON.parse(text ?? '', (_, value) => (Object.is(value, -0) ? 0 : value))
}

describe('the JSON parsing set', () => {
  test('is here in full', () => {
    expect([named('y_').length, named('n_').length, files.length]).toEqual([95, 187, 282])
  })

  test.each(named('n_'))('%s is rejected', (name) => {
    expect(read(name).result).toBeTypeOf('string')
  })

  test.each(named('y_').filter((name) => !Object.hasOwn(REJECTED_ON_PURPOSE, name)))(
    '%s is read like the platform reads it',
    (name) => {
      const { text, result } = read(name)
      const hasPlainStrings = !/[\\\u0000-\u001f]/.test(text ?? '')
      expect(result).toStrictEqual({ value: platformValue(text), watched: undefined, hasPlainStrings })
    },
  )

  test.each(Object.entries(REJECTED_ON_PURPOSE))('%s is rejected on purpose: %s', (name, reason) => {
    expect(read(name).result).toBe(reason)
  })
})
