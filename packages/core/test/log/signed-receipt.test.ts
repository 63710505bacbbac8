import { describe, expect, test } from 'vitest'
import {
  checkDrillReport,
  type DrillReport,
  parseDrillReport,
  signDrillReport,
} from '../../src/log/signed-drill.ts'
import {
  checkReceipt,
  parseReceipt,
  RECEIPT_VERIFIERS_MAX,
  type ReceiptFields,
  type ReceiptVerifier,
  type SignedReceipt,
  signReceipt,
} from '../../src/log/signed-receipt.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { at, EPOCH, SITE, token } from './log-sample.ts'

const VERIFIER: ReceiptVerifier = {
  verifier_id: 'web',
  instance_id: 'one',
  node_id: 'node_1',
  state: 'acknowledged',
  after_ms: 41,
  applied_ms: 7,
  first_denied_ms: null,
  rejects_from: null,
  fails_open: false,
}
const FIELDS: ReceiptFields = {
  site_id: SITE,
  epoch: EPOCH,
  seq: 7,
  kind: 'user.revoked',
  entry_hash: token(7),
  at: at(0),
  committed_at: at(0),
  as_of: at(1),
  state: 'waiting',
  final: false,
  drill_id: null,
  expected: 2,
  acknowledged: 1,
  gone: 0,
  elapsed_ms: null,
  denied_everywhere_at: at(9),
  denied_at_latest: at(9),
  verifiers: [{ ...VERIFIER, state: 'not_connected', after_ms: null, rejects_from: at(9) }, VERIFIER],
  kid: 'feed-1',
}
function omit(verifier: ReceiptVerifier, ...members: (keyof ReceiptVerifier)[]) {
  return Object.fromEntries(
    Object.entries(verifier).filter(([name]) => !members.includes(name as keyof ReceiptVerifier)),
  ) as unknown as ReceiptVerifier
}
const key = await generatePrivateKey('Ed25519')
const otherKey = await generatePrivateKey('Ed25519')
const receipt = await signReceipt(FIELDS, key)
const text = JSON.stringify(receipt)
const isValid = async (json: string) => {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return false
  }
  const parsed = parseReceipt(value)
  return parsed !== undefined && checkReceipt(parsed, key.publicKey)
}

describe('a receipt', () => {
  test('is valid with the key that signed it, also after JSON, and with no other', async () => {
    const received = parseReceipt(JSON.parse(text)) as SignedReceipt
    expect(received).toEqual(receipt)
    expect(await checkReceipt(received, key.publicKey)).toBe(true)
    expect(await checkReceipt(received, otherKey.publicKey)).toBe(false)
  })

  test('is invalid when any bit of its text is changed', async () => {
    expect(await isValid(text)).toBe(true)
    const bytes = Buffer.from(text)
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed[i] = (changed[i] as number) ^ (1 << (i % 7))
      expect(await isValid(changed.toString()), `byte ${i}`).toBe(false)
    }
  })

  test.each(Object.keys(receipt))('is invalid without %s', (member) => {
    const { [member as keyof SignedReceipt]: _, ...rest } = receipt
    expect(parseReceipt(rest)).toBeUndefined()
  })

  test.each([
    ['another member', { more: 1 }],
    ['a kind that does not exist', { kind: 'user.liked' }],
    ['more acknowledgements than verifiers', { acknowledged: 3 }],
    ['a state that its counts contradict', { state: 'complete' }],
    ['a negative count', { gone: -1 }],
    ['seq 0', { seq: 0 }],
    ['a state of a verifier that does not exist', { verifiers: [{ ...VERIFIER, state: 'fine' }] }],
    ['a fraction of a millisecond', { verifiers: [{ ...VERIFIER, after_ms: 0.5 }] }],
    ['a report that is no number', { verifiers: [{ ...VERIFIER, applied_ms: '7' }] }],
    ['a negative report', { verifiers: [{ ...VERIFIER, first_denied_ms: -1 }] }],
    ['half of a report', { verifiers: [omit(VERIFIER, 'applied_ms')] }],
    ['a name that is too long', { verifiers: [{ ...VERIFIER, verifier_id: 'a'.repeat(257) }] }],
    ['more verifiers than it counts', { verifiers: [VERIFIER, VERIFIER, VERIFIER] }],
  ])('cannot have %s', (_what, fields) => {
    expect(parseReceipt({ ...receipt, ...fields })).toBeUndefined()
  })

  test('of an earlier release, without reports of verifiers, stays valid', async () => {
    const old = omit(VERIFIER, 'applied_ms', 'first_denied_ms')
    const verifiers = [{ ...old, state: 'waiting' as const, after_ms: null }, old]
    const signed = await signReceipt({ ...FIELDS, verifiers }, key)
    expect(await isValid(JSON.stringify(signed))).toBe(true)
    const added = { ...signed, verifiers: verifiers.map((each) => ({ ...VERIFIER, ...each })) }
    expect(parseReceipt(added)).toBeDefined()
    expect(await isValid(JSON.stringify(added))).toBe(false)
  })

  test('lists at most so many verifiers', () => {
    const counts = { expected: 500, acknowledged: 500, state: 'complete' }
    const list = (length: number) => ({ ...receipt, ...counts, verifiers: Array(length).fill(VERIFIER) })
    expect(parseReceipt(list(RECEIPT_VERIFIERS_MAX))).toBeDefined()
    expect(parseReceipt(list(RECEIPT_VERIFIERS_MAX + 1))).toBeUndefined()
  })
})

describe('the report of a drill', () => {
  const drill_id = 'drill_1'
  const make = async (): Promise<DrillReport> => {
    const inner = await signReceipt({ ...FIELDS, kind: 'credential.revoked', drill_id }, key)
    const fields = {
      site_id: SITE,
      drill_id,
      credential_id: 'cred_drill_12345678' as DrillReport['credential_id'],
      started_at: at(0),
      ended_at: at(1),
      outcome: 'incomplete' as const,
      receipt: inner,
      kid: 'feed-1',
    }
    return signDrillReport(fields, key)
  }

  test('is valid with the key that signed it, and not when anything in it is changed', async () => {
    const report = await make()
    const received = parseDrillReport(JSON.parse(JSON.stringify(report))) as DrillReport
    expect(received).toEqual(report)
    expect(await checkDrillReport(received, key.publicKey)).toBe(true)
    expect(await checkDrillReport(received, otherKey.publicKey)).toBe(false)
    for (const change of [
      { ended_at: at(2) },
      { receipt: { ...report.receipt, as_of: at(2) } },
      { signature: report.receipt.signature },
    ])
      expect(await checkDrillReport({ ...received, ...change }, key.publicKey)).toBe(false)
  })

  test('must have the receipt of that drill, and its outcome', async () => {
    const report = await make()
    expect(parseDrillReport({ ...report, outcome: 'complete' })).toBeUndefined()
    expect(parseDrillReport({ ...report, drill_id: 'drill_2' })).toBeUndefined()
    expect(parseDrillReport({ ...report, receipt })).toBeUndefined()
  })

  test('is no receipt, and a receipt is no report', async () => {
    expect(parseReceipt(await make())).toBeUndefined()
    expect(parseDrillReport(receipt)).toBeUndefined()
  })
})
