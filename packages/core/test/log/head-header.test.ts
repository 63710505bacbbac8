import { expect, test } from 'vitest'
import {
  encodeHeadHeader,
  generatePrivateKey,
  HEAD_HEADER_CHARS_MAX,
  parseHeadHeader,
  type SiteId,
  signHeartbeat,
} from '../../src/index.ts'

const heartbeat = async () => {
  const key = await generatePrivateKey('Ed25519')
  const fields = {
    site_id: 'a.example' as SiteId,
    epoch: 'e0000000',
    seq: 7,
    hash: '0'.repeat(64),
    as_of: '2026-01-01T00:00:00Z',
  }
  return signHeartbeat({ ...fields, max_age_seconds: 60, kid: key.publicKey.multikey }, key)
}
const encode = (text: string) => Buffer.from(text).toString('base64url')

test('reads what it has written, and fits its limit', async () => {
  const head = await heartbeat()
  expect(parseHeadHeader(encodeHeadHeader(head))).toEqual(head)
  const longest = {
    ...head,
    site_id: `${'a'.repeat(63)}.`.repeat(3) + 'b'.repeat(61),
    epoch: 'e'.repeat(64),
    kid: 'k'.repeat(256),
  }
  expect(encode(JSON.stringify({ ...longest, seq: Number.MAX_SAFE_INTEGER })).length).toBeLessThan(
    HEAD_HEADER_CHARS_MAX,
  )
})

test('is undefined for anything else', async () => {
  const head = await heartbeat()
  const { signature: _, ...unsigned } = head
  for (const text of [
    '',
    '%',
    '{}',
    'x'.repeat(HEAD_HEADER_CHARS_MAX + 1),
    encode(''),
    encode('['),
    encode('{"seq":1}'),
  ])
    expect(parseHeadHeader(text)).toBeUndefined()
  for (const value of [unsigned, { ...head, more: 1 }, { ...head, seq: -1 }, { ...head, seq: [1] }, [head]])
    expect(parseHeadHeader(encode(JSON.stringify(value)))).toBeUndefined()
  expect(parseHeadHeader(`${encodeHeadHeader(head)}=`)).toBeUndefined()
  expect(parseHeadHeader(encode(`${JSON.stringify(head).slice(0, -1)},"seq":9}`))).toBeUndefined()
})
