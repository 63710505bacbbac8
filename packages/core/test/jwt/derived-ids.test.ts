import { createHmac, randomBytes } from 'node:crypto'
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

test('no two pairs of issuer and subject share an id, however they are cut', async () => {
  expect(await deriveSubjectPpid(KEY, 'https://idp.example/a', 'b')).not.toBe(
    await deriveSubjectPpid(KEY, 'https://idp.example/', 'ab'),
  )
  expect(await deriveSubjectPpid(randomBytes(32), 'https://idp.example', 'a')).not.toBe(
    await deriveSubjectPpid(randomBytes(32), 'https://idp.example', 'a'),
  )
})

test('a subject key is 32 bytes in base64url', () => {
  expect(parseSubjectKey(Buffer.from(KEY).toString('base64url'))).toEqual(Buffer.from(KEY))
  for (const bad of ['', 'a'.repeat(42), 'a'.repeat(44), '='.repeat(43), 7, undefined])
    expect(parseSubjectKey(bad)).toBeUndefined()
})
