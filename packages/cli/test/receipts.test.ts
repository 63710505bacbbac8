import { readFileSync, writeFileSync } from 'node:fs'
import { createGuard, type Guard } from '@countersign/sdk'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { expectAnswer, type Home, nowhere, openHome } from './home.ts'

let home: Home
const open = new Set<Guard>()
beforeAll(async () => {
  home = await openHome()
})
afterEach(async () => {
  for (const each of open) await each.close()
  open.clear()
})
afterAll(() => home?.close())

async function openGuard(verifierId: string): Promise<void> {
  const { base_url, site_id, site_key } = home.dev
  const guard = createGuard({ baseUrl: base_url, siteId: site_id, apiKey: site_key, verifierId })
  open.add(guard)
  await guard.ready()
}

let saved = 0
/** Saves the receipt of a new revocation, once it is complete. */
async function saveReceipt(name: string): Promise<{ seq: number; kid: string }> {
  const done = await home.run(['revoke', `cred_receipt-${++saved}-0`, '--yes', '--wait', '--json'])
  const { seq } = done.json()
  await expect.poll(async () => (await home.run(['receipts', String(seq), '--json'])).code).toBe(0)
  const { out, json } = await home.run(['receipts', String(seq), '--json'])
  expectAnswer('read_receipt', json())
  writeFileSync(home.file(name), out)
  return json()
}

test('a receipt is listed, shown and saved; its signature is checked with and without the service', {
  tags: 'long',
}, async () => {
  await openGuard('guard-1')
  const { seq, kid } = await saveReceipt('receipt.json')
  const list = await home.run(['receipts', '--limit', '5'])
  expect(list.code).toBe(0)
  expect(list.out).toMatch(
    new RegExp(`^${seq} .*credential.revoked +complete +1 of 1 verifiers, the last after \\d+ ms`, 'm'),
  )
  const listed = await home.run(['receipts', '--state', 'complete', '--limit', '1', '--json'])
  expectAnswer('list_receipts', listed.json())
  const shown = await home.run(['receipts', String(seq)])
  expect(shown.out).toMatch(
    /^acknowledged +guard-1 [0-9a-z-]{8}, applied after \d+ ms, acknowledged after \d+ ms$/im,
  )

  const stats = await home.run(['receipts', '--stats', '1h'])
  expect(stats.out).toMatch(/^guard-1 +1 +\d+ +\d+ +\d+ +applied$/m)
  expectAnswer('propagation_stats', (await home.run(['receipts', '--stats', '30d', '--json'])).json())
  expect((await home.run(['receipts', '--stats', '2h'])).code).toBe(2)

  const online = await home.run(['verify-receipt', 'receipt.json'])
  expect([online.code, online.out]).toEqual([0, expect.stringContaining('VALID: ')])
  const away = ['--url', await nowhere()]
  const offline = await home.run(['verify-receipt', 'receipt.json', '--feed-key', kid, ...away, '--json'])
  expect([offline.code, offline.json()]).toEqual([0, expect.objectContaining({ valid: true, seq })])
  const other = 'z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK'
  const wrongKey = await home.run(['verify-receipt', 'receipt.json', '--feed-key', other])
  expect([wrongKey.code, wrongKey.out]).toEqual([3, expect.stringContaining('INVALID: ')])
})

test('a receipt with one character changed is invalid', { tags: 'long' }, async () => {
  const { kid } = await saveReceipt('changed.json')
  const text = readFileSync(home.file('changed.json'), 'utf8')
  for (const [from, to] of [
    ['"gone": 0', '"gone": 1'],
    ['"final": true', '"final": false'],
    ['Z"', '1Z"'],
    ['"seq": ', '"seq": 1'],
    ['"signature": "', '"signature": "A'],
  ] as const) {
    expect(text).toContain(from)
    writeFileSync(home.file('changed.json'), text.replace(from, to))
    const { code, out } = await home.run(['verify-receipt', 'changed.json', '--feed-key', kid])
    expect([from, code, out.slice(0, 8)]).toEqual([from, 3, 'INVALID:'])
  }
  // A release that knows more members may have written it, and this one cannot say.
  writeFileSync(home.file('changed.json'), text.replace('"gone": 0', '"later": 1, "gone": 0'))
  const later = await home.run(['verify-receipt', 'changed.json', '--feed-key', kid])
  expect([later.code, later.out]).toEqual([3, expect.stringContaining('newer release')])
  writeFileSync(home.file('changed.json'), 'no JSON')
  expect((await home.run(['verify-receipt', 'changed.json', '--feed-key', kid])).code).toBe(3)
})

test('a drill reports who applied its entry, and its report can be verified', { tags: 'long' }, async () => {
  await openGuard('guard-1')
  const { code, out, json } = await home.run(['drill', '--reason', 'practice', '--json'])
  expect([code, json().outcome]).toEqual([0, 'complete'])
  expect(json().receipt).toMatchObject({ kind: 'credential.revoked', state: 'complete' })
  writeFileSync(home.file('drill.json'), out)
  const valid = await home.run(['verify-receipt', 'drill.json', '--json'])
  expect([valid.code, valid.json()]).toEqual([0, expect.objectContaining({ valid: true, type: 'drill' })])
  writeFileSync(home.file('drill.json'), out.replace('"outcome": "complete"', '"outcome": "incomplete"'))
  expect((await home.run(['verify-receipt', 'drill.json'])).code).toBe(3)
  const list = await home.run(['drill', '--list'])
  expect(list.out).toMatch(/complete +1 of 1 +\d+ ms$/m)
  const again = await home.run(['drill'])
  expect([again.err, again.out].join('')).toMatch(/^outcome +complete$/m)
})

test('wrong words are usage errors', async () => {
  expect((await home.run(['receipts', 'x'])).code).toBe(2)
  expect((await home.run(['receipts', '--state', 'lost'])).code).toBe(2)
  expect((await home.run(['verify-receipt'])).code).toBe(2)
  writeFileSync(home.file('any.json'), '{}')
  expect((await home.run(['verify-receipt', 'any.json', '--feed-key', 'z'])).code).toBe(3)
  const missing = await home.run(['receipts', '999999'])
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('no receipt')])
})
