import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { credential } from '../../src/contract/examples.ts'
import { exchangeProofRequestSchema } from '../../src/contract/tokens.ts'
import { coded, toValidationProblem } from '../../src/contract/validation.ts'

function findProblem(value: unknown) {
  const { error } = exchangeProofRequestSchema.safeParse(value)
  if (error === undefined) throw new Error('was not rejected')
  return toValidationProblem(error, 'body')
}

describe('toValidationProblem', () => {
  test('gives a code of its own only when all faults share it', () => {
    expect(findProblem({ credential, ttl_seconds: 0 }).code).toBe('ttl_out_of_range')
    expect(findProblem({ credential, ttl_seconds: 0, surprise: 1 }).code).toBe('validation_failed')
    expect(findProblem({ credential, ttl_seconds: 0, site_id: 'X' }).errors.map(({ path }) => path)).toEqual([
      'site_id',
      'ttl_seconds',
    ])
  })

  test('puts what is malformed before what is not valid', () => {
    expect(findProblem({ credential: 'eyJ4IjoxfQ', surprise: 1 }).code).toBe('credential_malformed')
  })

  test('calls a missing member not valid, whatever its own code', () => {
    expect(findProblem({})).toEqual({
      code: 'validation_failed',
      errors: [{ path: 'credential', message: 'must be the signed credential as a JSON object' }],
    })
  })

  test('names places in lists', () => {
    expect(findProblem({ credential, requested_scope: ['orders:read', '*'] }).errors).toEqual([
      { path: 'requested_scope.1', message: 'must be 1 to 128 of a-z 0-9 _ . : / -' },
    ])
  })

  test('never repeats a value, and of member names only what is short and printable', () => {
    const secret = `svc_sk_${'S'.repeat(49)}`
    const text = JSON.stringify(
      findProblem({ credential: secret, site_id: secret, requested_scope: [secret], ttl_seconds: secret }),
    )
    expect(text).not.toContain('SSSS')
    expect(findProblem({ credential, [secret]: 1, 'a\nb': 1 }).errors.map(({ path }) => path)).toEqual([
      '…',
      '…',
    ])
  })

  test('lists a bounded number of faults', () => {
    const members = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, 0]))
    expect(findProblem({ credential, ...members }).errors).toHaveLength(20)
    expect(
      findProblem({ credential, requested_scope: Array.from({ length: 5000 }, () => '*') }).errors.length,
    ).toBeLessThanOrEqual(20)
  })

  test('rejects __proto__ like any unknown member', () => {
    const value = JSON.parse('{"__proto__":{"site_id":"x"}}') as object
    expect(
      exchangeProofRequestSchema.safeParse(
        Object.defineProperties(
          {},
          { ...Object.getOwnPropertyDescriptors(value), credential: { value: credential, enumerable: true } },
        ),
      ).success,
    ).toBe(false)
  })

  test('takes no code from elsewhere', () => {
    const schema = z.string().refine(() => false, { message: 'no', params: { code: 'toString' } })
    const { error } = schema.safeParse('x')
    expect(error && toValidationProblem(error, 'body').code).toBe('validation_failed')
  })
})

describe('coded', () => {
  test('may be left out where it is optional and is required where it is not', () => {
    const seven = coded<number>('ttl_out_of_range', (value) => value === 7, 'must be 7', { type: 'integer' })
    expect(z.strictObject({ a: seven.optional() }).safeParse({}).success).toBe(true)
    expect(z.strictObject({ a: seven }).safeParse({}).success).toBe(false)
    const { properties, required } = z.toJSONSchema(z.strictObject({ a: seven, b: seven.optional() }))
    expect([properties, required]).toEqual([{ a: { type: 'integer' }, b: { type: 'integer' } }, ['a']])
  })
})
