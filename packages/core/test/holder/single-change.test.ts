import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkHolderProof } from '../../src/holder/check.ts'
import { signRequest } from '../../src/holder/sign.ts'
import type { KeyAlgorithm } from '../../src/proof/keys.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { runs } from '../runs.ts'
import { BODY, GET, NOW_MS, received, type Sent, toExpected } from './forged-proof.ts'

const PARTS = [
  'method',
  'authority',
  'path',
  'query',
  'x-service-credential',
  'content-digest',
  'signature',
  'signature-input',
  'body',
] as const
type Part = (typeof PARTS)[number]

function get(sent: Sent, part: Part): string {
  if (part === 'body') return Buffer.from(sent.body as Uint8Array).toString('latin1')
  return part === 'method' || part === 'authority' || part === 'path' || part === 'query'
    ? sent[part]
    : (sent.headers[part] as string)
}

function set(sent: Sent, part: Part, value: string): Sent {
  if (part === 'body') return { ...sent, body: Buffer.from(value, 'latin1') }
  if (part === 'method' || part === 'authority' || part === 'path' || part === 'query')
    return { ...sent, [part]: value }
  return { ...sent, headers: { ...sent.headers, [part]: value } }
}

/**
 * Equal by RFC 9110 and RFC 9651: upper case in a host, whitespace around a value or between
 * members.
 */
function meaning(part: Part, value: string): string {
  if (part === 'authority') return value.toLowerCase().replace(/:(80|443)?$/, '')
  if (part === 'x-service-credential' || part === 'content-digest')
    return value.replace(/^[ \t]+|[ \t]+$/g, '')
  return part === 'signature' || part === 'signature-input' ? value.replaceAll(/[ \t]/g, '') : value
}

describe.each<KeyAlgorithm>(['Ed25519', 'P-256'])('a request signed with %s', (algorithm) => {
  const signed = (async () => {
    const key = await generatePrivateKey(algorithm)
    const sent: Sent = { ...GET, method: 'POST', body: BODY }
    const fields = await signRequest(received(sent), { key, nowMs: NOW_MS, nonce: 'n0nce-n0nce-n0nce-n0nce' })
    return { key, sent: { ...sent, headers: { ...sent.headers, ...fields } } as Sent }
  })()
  const isAllowed = async (sent: Sent) =>
    (await checkHolderProof(received(sent), toExpected((await signed).key))).ok

  test('is allowed as it is', async () => {
    expect(await isAllowed((await signed).sent)).toBe(true)
  })

  test.each(PARTS)(
    'is rejected after any single character of its %s is replaced, dropped or added',
    async (part) => {
      const { sent } = await signed
      const original = get(sent, part)
      const edit = fc.record({
        at: fc.nat(original.length),
        drop: fc.nat(1),
        char: fc.oneof(
          fc.constantFrom('', ...'AaZz09+/=:"; ,-_.~'),
          fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        ),
      })
      await fc.assert(
        fc.asyncProperty(edit, async ({ at, drop, char }) => {
          const edited = original.slice(0, at) + char + original.slice(at + drop)
          if (part === 'body' && /[^\0-\xff]/.test(char)) return
          if (meaning(part, edited) === meaning(part, original)) return
          expect(await isAllowed(set(sent, part, edited))).toBe(false)
        }),
        { numRuns: runs(400) },
      )
    },
  )

  test('is rejected after any single bit of its fields and body is turned', async () => {
    const { sent } = await signed
    for (const part of PARTS) {
      const original = get(sent, part)
      for (let at = 0; at < original.length; at++) {
        const char = String.fromCharCode(original.charCodeAt(at) ^ (1 << (at % 7)))
        const edited = original.slice(0, at) + char + original.slice(at + 1)
        if (meaning(part, edited) === meaning(part, original)) continue
        expect(await isAllowed(set(sent, part, edited)), `${part} ${at}`).toBe(false)
      }
    }
  })
})
