import { describe, expect, test } from 'vitest'
import { deny, isDenial } from '../../src/credential/denial.ts'

describe('a denial', () => {
  test('carries its code and its words, and nothing else', () => {
    expect(deny('site_mismatch', 'for another site')).toStrictEqual({
      ok: false,
      code: 'site_mismatch',
      detail: 'for another site',
    })
  })

  test('is told from what was asked for', () => {
    expect(isDenial(deny('token_invalid', ''))).toBe(true)
    expect(isDenial({ ok: true })).toBe(false)
    expect(isDenial({})).toBe(false)
    expect(isDenial({ code: 'token_invalid' })).toBe(false)
  })
})
