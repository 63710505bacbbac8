import { describe, expect, it } from 'vitest'
import { deny, isDeny } from '../../src/credential/denial.ts'

describe('a refusal', () => {
  it('carries its code and its words, and nothing else', () => {
    expect(deny('site_mismatch', 'for another site')).toStrictEqual({
      ok: false,
      code: 'site_mismatch',
      detail: 'for another site',
    })
  })

  it('is told from what was asked for', () => {
    expect(isDeny(deny('token_invalid', ''))).toBe(true)
    expect(isDeny({ ok: true })).toBe(false)
    expect(isDeny({})).toBe(false)
    expect(isDeny({ code: 'token_invalid' })).toBe(false)
  })
})
