import { problemBody, problemCodes, problems } from '@countersign/core/contract'
import { describe, expect, test } from 'vitest'
import { readDenial } from '../../src/client/read-denial.ts'

const type = { 'content-type': 'application/problem+json' }
const answer = (body: unknown, status: number, headers: Record<string, string> = type) =>
  Response.json(body, { status, headers })

describe('readDenial', () => {
  test.each(problemCodes)('knows whether waiting helps against %s', async (code) => {
    const { status, retryable = false } = problems[code]
    const denial = await readDenial(
      answer(problemBody(code, { baseUrl: 'https://auth.example', requestId: 'r-1' }), status),
    )
    expect(denial).toMatchObject({ code, status, title: problems[code].title, requestId: 'r-1', retryable })
    if (retryable) expect(denial?.needs).toBe('retry_later')
  })

  test.each([
    ['credential_missing', 'credential'],
    ['credential_expired', 'new_credential'],
    ['token_invalid', 'new_credential'],
    ['scope_insufficient', 'scope'],
    ['issuer_untrusted', 'trusted_issuer'],
    ['site_mismatch', 'site'],
    ['proof_replayed', 'holder_proof'],
    ['credential_malformed', 'fix_request'],
    ['credential_not_yet_valid', 'retry_later'],
    ['credential_revoked', 'none'],
    ['api_key_forbidden', 'none'],
    ['validation_failed', 'fix_request'],
  ] as const)('says what would help against %s: %s', async (code, needs) => {
    const body = problemBody(code, { baseUrl: 'https://auth.example', requestId: 'r-1' })
    expect((await readDenial(answer(body, body.status)))?.needs).toBe(needs)
  })

  test('has all that the problem says, and prefers the header for the time to wait', async () => {
    const members = {
      baseUrl: 'https://auth.example',
      requestId: 'r-1',
      requiredScope: ['orders:write'],
      retryAfterSeconds: 5,
      errors: [{ path: 'a', message: 'b' }],
    }
    const body = problemBody('scope_insufficient', members)
    const parts = { requiredScope: ['orders:write'], errors: [{ path: 'a', message: 'b' }] }
    expect(await readDenial(answer(body, 403))).toMatchObject({ ...parts, retryAfterSeconds: 5 })
    expect(await readDenial(answer(body, 403, { ...type, 'retry-after': '7' }))).toMatchObject({
      retryAfterSeconds: 7,
    })
    const date = { ...type, 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }
    expect(await readDenial(answer(body, 403, date))).toMatchObject({ retryAfterSeconds: 5 })
  })

  test('leaves the body to be read', async () => {
    const response = answer({ code: 'credential_revoked' }, 401)
    expect(await readDenial(response)).toMatchObject({
      code: 'credential_revoked',
      detail: 'credential_revoked',
    })
    expect(await response.json()).toEqual({ code: 'credential_revoked' })
    expect(await readDenial(response)).toBeUndefined()
  })

  test('judges a code of a newer service by its status', async () => {
    expect(await readDenial(answer({ code: 'moon_full' }, 503))).toMatchObject({
      needs: 'retry_later',
      retryable: true,
    })
    expect(await readDenial(answer({ code: 'moon_full' }, 403))).toMatchObject({
      needs: 'none',
      retryable: false,
    })
    expect(await readDenial(answer({ code: 'moon_full' }, 409))).toMatchObject({
      needs: 'fix_request',
      retryable: false,
    })
    // Names that every object has are no codes.
    expect(await readDenial(answer({ code: 'constructor' }, 403))).toMatchObject({ needs: 'none' })
  })

  test('is undefined for what is not of this service', async () => {
    for (const response of [
      answer({ code: 'credential_revoked' }, 200),
      answer({ code: 'credential_revoked' }, 401, { 'content-type': 'application/json' }),
      answer({ title: 'no code' }, 401),
      answer({ code: 7 }, 401),
      answer('text', 401),
      answer(null, 401),
      new Response('{', { status: 401, headers: type }),
      new Response(null, { status: 401, headers: type }),
      answer({ code: 'credential_revoked', detail: 'x'.repeat(65_536) }, 401),
    ]) {
      expect(await readDenial(response)).toBeUndefined()
    }
  })
})
