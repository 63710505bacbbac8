import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createApiKeys } from '../../src/keys/api-keys.ts'
import { createSecretText, secretSha256 } from '../../src/keys/secret-text.ts'
import type { ApiKey } from '../../src/store/operations/api-keys.ts'

const now = { ms: 0 }
const stored = new Map<string, ApiKey>()
let asked: string[] = []
let hold: Promise<void> | undefined
const store = {
  async apiKeyBySha256(sha256: string) {
    asked.push(sha256)
    const found = stored.get(sha256)
    await hold
    return found
  },
}
const keys = () => createApiKeys(store, () => now.ms)

function newKey(more: Partial<ApiKey> = {}): string {
  const secret = createSecretText('svc_sk_', randomBytes(32))
  const sha256 = secretSha256(secret)
  stored.set(sha256, {
    keyId: 'key_1',
    siteId: null,
    sha256,
    last4: secret.slice(-4),
    permissions: [],
    label: undefined,
    expiresAtMs: undefined,
    createdAtMs: 0,
    ...more,
  })
  return secret
}

beforeEach(() => {
  now.ms = 1000
  stored.clear()
  asked = []
  hold = undefined
})

describe('API keys', () => {
  test('are looked up by hash, and the secret never reaches the store', async () => {
    const secret = newKey()
    expect(await keys().find(secret, 0)).toMatchObject({ keyId: 'key_1' })
    expect(asked).toEqual([secretSha256(secret)])
  })
  test('report each use of a valid key, and no use of an expired one', async () => {
    const used: [string, number][] = []
    const apiKeys = createApiKeys(
      store,
      () => now.ms,
      (keyId, nowMs) => void used.push([keyId, nowMs]),
    )
    const secret = newKey({ expiresAtMs: 10 })
    await apiKeys.find(secret, 5)
    await apiKeys.find(secret, 6)
    await apiKeys.find(secret, 10)
    expect(used).toEqual([
      ['key_1', 5],
      ['key_1', 6],
    ])
  })
  test('are asked for once a second, however often they are used', async () => {
    const apiKeys = keys()
    const secret = newKey()
    await Promise.all([apiKeys.find(secret, 0), apiKeys.find(secret, 0)])
    now.ms += 999
    await apiKeys.find(secret, 0)
    expect(asked).toHaveLength(1)
    now.ms += 1
    await apiKeys.find(secret, 0)
    expect(asked).toHaveLength(2)
  })
  test('are not remembered when they do not exist, so that a new key works at once', async () => {
    const apiKeys = keys()
    const secret = newKey()
    const sha256 = secretSha256(secret)
    const key = stored.get(sha256) as ApiKey
    stored.clear()
    expect(await apiKeys.find(secret, 0)).toBeUndefined()
    stored.set(sha256, key)
    expect(await apiKeys.find(secret, 0)).toBe(key)
  })
  test('end at their very millisecond, also while they are remembered', async () => {
    const apiKeys = keys()
    const secret = newKey({ expiresAtMs: 5000 })
    expect(await apiKeys.find(secret, 4999)).toBeDefined()
    expect(await apiKeys.find(secret, 5000)).toBeUndefined()
  })
  test('stop at once when they are forgotten', async () => {
    const apiKeys = keys()
    const secret = newKey()
    await apiKeys.find(secret, 0)
    stored.clear()
    apiKeys.forget('key_1')
    expect(await apiKeys.find(secret, 0)).toBeUndefined()
  })
  test('stay forgotten when a look-up was under way', async () => {
    const apiKeys = keys()
    const secret = newKey()
    const { promise, resolve } = Promise.withResolvers<void>()
    hold = promise
    const early = apiKeys.find(secret, 0)
    stored.clear()
    apiKeys.forget('key_1')
    resolve()
    await early
    expect(await apiKeys.find(secret, 0)).toBeUndefined()
  })
  test('are looked up again when the look-up under way began a second ago', async () => {
    const apiKeys = keys()
    const secret = newKey()
    const { promise, resolve } = Promise.withResolvers<void>()
    hold = promise
    const early = apiKeys.find(secret, 0)
    now.ms += 999
    const inTime = apiKeys.find(secret, 0)
    // On another node, so nothing is forgotten here.
    stored.clear()
    now.ms += 1
    const late = apiKeys.find(secret, 0)
    resolve()
    expect(await Promise.all([early, inTime])).toMatchObject([{ keyId: 'key_1' }, { keyId: 'key_1' }])
    expect(await late).toBeUndefined()
    expect(await apiKeys.find(secret, 0)).toBeUndefined()
    expect(asked).toHaveLength(3)
  })
  test('are known to have been good, or not', async () => {
    const apiKeys = keys()
    const secret = newKey()
    expect(apiKeys.wasGood(secret)).toBe(false)
    await apiKeys.find(secret, 0)
    now.ms += 3_600_000
    expect(apiKeys.wasGood(secret)).toBe(true)
    stored.clear()
    await apiKeys.find(secret, 0)
    expect(apiKeys.wasGood(secret)).toBe(false)
  })
  test('are not looked up when their checksum is wrong', async () => {
    const apiKeys = keys()
    for (const junk of ['', 'x', `svc_sk_${'A'.repeat(49)}`])
      expect(await apiKeys.find(junk, 0)).toBeUndefined()
    expect(asked).toEqual([])
  })
  test('that cannot be asked for are an error, never an answer', async () => {
    const failing = createApiKeys({ apiKeyBySha256: () => Promise.reject(new Error('down')) }, () => 0)
    await expect(failing.find(newKey(), 0)).rejects.toThrow('down')
  })
})
