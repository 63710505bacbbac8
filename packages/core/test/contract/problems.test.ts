import { describe, expect, test } from 'vitest'
import { challengeFor, problemBody } from '../../src/contract/problem-body.ts'
import {
  forwardAuthStatus,
  type ProblemCode,
  parseProblemCode,
  problemCodes,
  problems,
} from '../../src/contract/problems.ts'
import { problemDetailsSchema } from '../../src/contract/validation.ts'

const statuses: Record<number, string> = {
  400: 'request_malformed credential_malformed credential_unsupported auth_ambiguous delegation_too_deep state_invalid redirect_not_allowed link_invalid passkey_invalid site_unknown cursor_malformed callback_invalid code_invalid signal_invalid signal_subject_unmapped',
  401: 'credential_missing issuer_untrusted credential_signature_invalid credential_not_yet_valid credential_expired credential_revoked delegation_invalid proof_required proof_invalid proof_replayed token_invalid api_key_missing api_key_invalid session_required',
  403: 'site_mismatch scope_insufficient bearer_disabled api_key_forbidden revocation_forbidden role_insufficient step_up_required sign_in_forbidden csrf_invalid origin_forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'idempotency_conflict cursor_ahead verifier_active passkey_unavailable own_access already_exists key_in_use',
  410: 'cursor_expired',
  413: 'request_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  422: 'validation_failed ttl_out_of_range webhook_url_forbidden logo_rejected key_rejected',
  429: 'rate_limited',
  431: 'header_too_large',
  500: 'internal_error',
  503: 'store_unavailable revocation_view_stale signal_keys_unavailable provider_unavailable overloaded',
}

const members = { baseUrl: 'https://auth.example', requestId: 'req-1' }

describe('problems', () => {
  test('has exactly the codes of the contract, each with its status', () => {
    const expected = Object.entries(statuses).flatMap(([status, codes]) =>
      codes.split(' ').map((code) => [code, Number(status)]),
    )
    expect(Object.entries(problems).map(([code, { status }]) => [code, status])).toEqual(expected)
  })

  test('says of every code in a title and two sentences what it means and what to do', () => {
    for (const { title, meaning, remedy } of Object.values(problems)) {
      expect(title).toMatch(/^[A-Z][^.|]{3,40}$/)
      expect(meaning).toMatch(/^[A-Za-z_]+ [^|\n]+\.$/)
      expect(remedy).toMatch(/^[A-Z][^|\n]+\.$/)
    }
    expect(new Set(Object.values(problems).map(({ title }) => title)).size).toBe(problemCodes.length)
  })

  test('calls a code retryable exactly when the same request may succeed later', () => {
    const retryable = problemCodes.filter((code) => problems[code].retryable)
    expect(retryable).toEqual([
      'rate_limited',
      'internal_error',
      'store_unavailable',
      'revocation_view_stale',
      'signal_keys_unavailable',
      'provider_unavailable',
      'overloaded',
    ])
  })

  test('takes no name of an object for a code', () => {
    expect(parseProblemCode('credential_expired')).toBe('credential_expired')
    for (const value of ['toString', '__proto__', '', 'CREDENTIAL_EXPIRED', 7, null])
      expect(parseProblemCode(value)).toBeUndefined()
  })
})

describe('problemBody', () => {
  test('has the members of RFC 9457 and ours, and leaves out what was not given', () => {
    const body = problemBody('credential_expired', members)
    expect(body).toEqual({
      type: 'https://auth.example/problems/credential_expired',
      title: 'Credential expired',
      status: 401,
      detail: 'The credential has expired. Request a new credential from its issuer.',
      code: 'credential_expired',
      request_id: 'req-1',
    })
  })

  test('carries what helps a program to act', () => {
    expect(
      problemBody('scope_insufficient', { ...members, requiredScope: ['orders:read'] }).required_scope,
    ).toEqual(['orders:read'])
    expect(problemBody('rate_limited', { ...members, retryAfterSeconds: 3 }).retry_after).toBe(3)
    const errors = [{ path: 'ppid', message: 'must be a string' }]
    expect(problemBody('validation_failed', { ...members, detail: 'Correct it.', errors })).toMatchObject({
      detail: 'Correct it.',
      errors,
    })
    expect(problemBody('api_key_missing', { ...members, status: 403 }).status).toBe(403)
  })

  test('fits its own schema for every code', () => {
    for (const code of problemCodes)
      expect(problemDetailsSchema.parse(problemBody(code, members)).code).toBe(code)
    expect(problemDetailsSchema.safeParse({ ...problemBody('not_found', members), stack: 'x' }).success).toBe(
      false,
    )
    expect(
      problemDetailsSchema.safeParse({ ...problemBody('not_found', members), code: 'no_such_code' }).success,
    ).toBe(false)
  })
})

describe('challengeFor', () => {
  test('gives every 401 a challenge and nothing else one', () => {
    for (const code of problemCodes)
      expect(challengeFor(code) !== undefined, code).toBe(problems[code].status === 401)
  })

  test('names the way in that was missed', () => {
    expect(challengeFor('credential_missing')).toBe(
      'ServiceCredential realm="countersign", Bearer realm="countersign"',
    )
    expect(challengeFor('credential_expired')).toBe(
      'ServiceCredential realm="countersign", error="credential_expired"',
    )
    expect(challengeFor('token_invalid')).toBe('Bearer realm="countersign", error="invalid_token"')
    expect(challengeFor('api_key_missing')).toBe('ApiKey realm="countersign"')
    expect(challengeFor('session_required')).toBe('Session realm="countersign"')
  })

  test('follows the status that is really sent', () => {
    expect(challengeFor('auth_ambiguous', 401)).toBe(
      'ServiceCredential realm="countersign", error="auth_ambiguous"',
    )
    expect(challengeFor('credential_missing', 400)).toBeUndefined()
  })
})

describe('forwardAuthStatus', () => {
  test('leaves a proxy with 401, 403, 429 and the faults of the service', () => {
    const seen = new Set(problemCodes.map((code) => forwardAuthStatus(code)))
    expect([...seen].sort()).toEqual([401, 403, 429, 500, 503])
    const known: [ProblemCode, number][] = [
      ['credential_malformed', 401],
      ['auth_ambiguous', 401],
      ['header_too_large', 401],
      ['validation_failed', 401],
      ['scope_insufficient', 403],
      ['rate_limited', 429],
      ['revocation_view_stale', 503],
    ]
    for (const [code, status] of known) expect(forwardAuthStatus(code), code).toBe(status)
  })
})
