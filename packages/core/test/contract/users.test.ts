import { describe, expect, test } from 'vitest'
import { CREDENTIAL_ID, PPID, SITE } from '../../src/contract/examples.ts'
import { revokeCredentialRequestSchema, revokeUserRequestSchema } from '../../src/contract/revocation.ts'
import { resolveUserRequestSchema } from '../../src/contract/users.ts'
import { toValidationProblem } from '../../src/contract/validation.ts'

const issuer = 'https://idp.example/realms/acme'

describe('a request names a user', () => {
  const forms = [{ ppid: PPID }, { user_ref: 'alice' }, { issuer, subject: 'alice' }]

  test.each(forms)('by %j', (form) => {
    expect(revokeUserRequestSchema.safeParse({ site_id: SITE, ...form }).success).toBe(true)
    expect(resolveUserRequestSchema.safeParse(form).success).toBe(true)
  })

  test.each([
    {},
    { issuer },
    { subject: 'alice' },
    { ppid: PPID, user_ref: 'alice' },
    { ppid: PPID, issuer, subject: 'alice' },
    { ppid: PPID, issuer },
    { ppid: PPID, subject: 'alice' },
    { user_ref: 'alice', issuer },
    { user_ref: 'alice', issuer, subject: 'alice' },
    { ppid: PPID, user_ref: 'alice', issuer, subject: 'alice' },
  ])('but not by %j', (form) => {
    for (const schema of [revokeUserRequestSchema, resolveUserRequestSchema]) {
      const { error } = schema.safeParse(
        schema === revokeUserRequestSchema ? { site_id: SITE, ...form } : form,
      )
      expect(error && toValidationProblem(error, 'body').errors).toEqual([
        {
          path: 'ppid',
          message: 'must be sent, or user_ref, or issuer with subject, but only one of the three',
        },
      ])
    }
  })
})

describe('an issuer and a subject', () => {
  const accepts = (form: object) =>
    resolveUserRequestSchema.safeParse({ issuer, subject: 'alice', ...form }).success

  test.each([
    '',
    'idp.example',
    'ftp://idp.example',
    'https://IDP.example',
    'https://idp.example/?a=b',
    'https://idp.example#x',
    `https://idp.example/${'a'.repeat(1024)}`,
    'did:web:idp.example',
    7,
  ])('the issuer is not %j', (value) => {
    expect(accepts({ issuer: value })).toBe(false)
  })

  test('the subject is what a token may have: 1 to 256 characters, any text', () => {
    for (const subject of ['x', 'x'.repeat(256), 'a\nb', '\u0000'])
      expect([subject, accepts({ subject })]).toEqual([subject, true])
    for (const subject of ['', 'x'.repeat(257), '\ud800', 7, null])
      expect([subject, accepts({ subject })]).toEqual([subject, false])
  })
})

describe('a request names a credential', () => {
  const accepts = (form: object) =>
    revokeCredentialRequestSchema.safeParse({ site_id: SITE, ...form }).success

  test.each([{ credential_id: CREDENTIAL_ID }, { issuer, jti: 'a' }, { issuer, session: 'a' }])(
    'by %j',
    (form) => {
      expect(accepts(form)).toBe(true)
    },
  )

  test.each([
    {},
    { issuer },
    { jti: 'a' },
    { session: 'a' },
    { issuer, jti: 'a', session: 'a' },
    { credential_id: CREDENTIAL_ID, issuer },
    { credential_id: CREDENTIAL_ID, issuer, jti: 'a' },
    { credential_id: CREDENTIAL_ID, session: 'a' },
  ])('but not by %j', (form) => {
    expect(accepts(form)).toBe(false)
  })
})
