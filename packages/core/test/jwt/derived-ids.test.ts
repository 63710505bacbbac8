import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isDerivedId } from '../../src/credential/ids.ts'
import {
  deriveSessionId,
  deriveSubjectPpid,
  deriveTextTokenId,
  deriveTokenId,
  deriveUserRefPpid,
  parseSubjectKey,
} from '../../src/jwt/derived-ids.ts'
import { hmacSha256 } from '../../src/proof/hmac.ts'

const KEY = new Uint8Array(32).fill(7)

test('the HMAC is that of node:crypto', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 64 }),
      fc.uint8Array({ maxLength: 300 }),
      async (key, data) => {
        const ours = Buffer.from(await hmacSha256(key, data)).toString('hex')
        expect(ours).toBe(createHmac('sha256', key).update(data).digest('hex'))
      },
    ),
  )
})

test('each kind of id has its own form, and stays the same', async () => {
  const ids = await Promise.all([
    deriveSubjectPpid(KEY, 'https://idp.example', 'alice'),
    deriveUserRefPpid(KEY, 'alice'),
    deriveTokenId(KEY, 'https://idp.example', 'alice'),
    deriveTextTokenId(KEY, 'https://idp.example', 'alice'),
    deriveSessionId(KEY, 'https://idp.example', 'alice'),
  ])
  expect(ids.map((id) => id.slice(0, -43))).toEqual([
    'did:service:ppid_j_',
    'did:service:ppid_j_',
    'cred_jt_',
    'cred_jt_',
    'cred_js_',
  ])
  expect(new Set(ids.map((id) => id.slice(-43))).size).toBe(5)
  expect(ids.every(isDerivedId)).toBe(true)
  expect(await deriveSubjectPpid(KEY, 'https://idp.example', 'alice')).toBe(ids[0])
})

test('A287 no two pairs of issuer and subject share an id, however they are cut', async () => {
  const cut = (text: string, at: number) => [text.slice(0, at), text.slice(at)] as const
  const texts = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('subject', '\0\0\0\x01a', 'a#b|c:d e'))
  await fc.assert(
    fc.asyncProperty(texts, fc.nat(), fc.nat(), async (text, one, two) => {
      const cuts = [one, two].map((n) => n % (text.length + 1))
      const ids = await Promise.all(cuts.map((at) => deriveSubjectPpid(KEY, ...cut(text, at))))
      expect(ids[0] === ids[1]).toBe(cuts[0] === cuts[1])
    }),
  )
})

test('A287 the ids of issuers, sites and kinds of names differ, also for an empty name', async () => {
  const names = ['', 'alice', 'https://idp.example', 'user_ref', '\0']
  const issuers = ['https://idp.example', 'https://idp.example/', 'https://other.example']
  const derived = [KEY, new Uint8Array(32).fill(8)].flatMap((key) =>
    names.flatMap((name) => [
      deriveUserRefPpid(key, name),
      ...issuers.flatMap((issuer) =>
        [deriveSubjectPpid, deriveTokenId, deriveTextTokenId, deriveSessionId].map((derive) =>
          derive(key, issuer, name),
        ),
      ),
    ]),
  )
  const ids = await Promise.all(derived)
  expect(new Set(ids.map((id) => id.slice(-43))).size).toBe(2 * names.length * (1 + issuers.length * 4))
})

test('a subject key is 32 bytes in base64url', () => {
  expect(parseSubjectKey(Buffer.from(KEY).toString('base64url'))).toEqual(Buffer.from(KEY))
  for (const bad of ['', 'a'.repeat(42), 'a'.repeat(44), '='.repeat(43), 7, undefined])
    expect(parseSubjectKey(bad)).toBeUndefined()
})
