import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FeedKeyStatement, feedKeySha256, parseFeedKey, type SiteId } from '@countersign/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ensureOwnIssuer } from '../../src/actions/own-issuer.ts'
import { secretSha256 } from '../../src/keys/secret-text.ts'
import { openServiceKeys } from '../../src/keys/service-keys.ts'
import { openStore } from '../../src/store/open.ts'
import { createSite } from '../node.ts'
import { MASTER_KEY, MASTER_KEY_HEX, quietLog } from '../store/fixtures.ts'
import { run } from './terminal.ts'

const BASE_URL = 'https://auth.example'
const SITE = 'a.example' as SiteId
const onFatal = (fault: Error) => {
  throw fault
}
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const here = (...argv: string[]) =>
  run(argv, {
    COUNTERSIGN_DATA_DIR: folder,
    COUNTERSIGN_BASE_URL: BASE_URL,
    COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
  })
const open = async () => {
  const store = await openStore(
    { kind: 'sqlite', file: join(folder, 'countersign.db') },
    { masterKey: MASTER_KEY, log: quietLog, onFatal },
  )
  return { store, keys: await openServiceKeys(store, MASTER_KEY, BASE_URL, Date.now()) }
}
const newest = { after: undefined, limit: 1 }

describe('rotate-issuer-key', () => {
  test('makes a key that the next start signs with, and that every site knows', async () => {
    const before = await open()
    await createSite(before.store, SITE, [], {
      pairwiseSecretSealed: before.keys.seal('pairwise:a.example', 'a secret'),
    })
    await ensureOwnIssuer(before, SITE, { actor: 'system', atMs: Date.now(), requestId: undefined })
    const [old] = before.keys.issuerKeys
    await before.store.close()

    const { code, said } = await here('rotate-issuer-key', '--now')
    expect(code).toBe(0)
    const [, id] = /^New issuer key (z6Mk\S+), signing from now on\.$/.exec(said) ?? []

    const after = await open()
    expect(after.keys.signer(Date.now()).verificationMethod).toBe(`did:web:auth.example#${id}`)
    expect(after.keys.issuerKeys.map((key) => key.id)).toEqual([old?.id, id])
    const issuer = await after.store.issuer(SITE, 'did:web:auth.example')
    expect(issuer?.keys.map((key) => [key.id, key.status])).toEqual([
      [old?.id, 'active'],
      [id, 'active'],
    ])
    const [row] = await after.store.auditRows(null, newest)
    expect(row).toMatchObject({
      action: 'service_key.rotate',
      target: id,
      detail: { use: 'issuer' },
      context: { actor: 'operator' },
    })
    await after.store.close()
  })
  test('lets the old key sign until every node has published the new one', { tags: 'long' }, async () => {
    await (await open()).store.close()
    const { said } = await here('rotate-issuer-key')
    expect(said).toContain('signing in 60 seconds')
    const { store, keys } = await open()
    expect(keys.issuerKeys).toHaveLength(2)
    expect(keys.signer(Date.now()).verificationMethod).toBe(`did:web:auth.example#${keys.issuerKeys[0]?.id}`)
    await store.close()
  })
  test('refuses another master key, without a word of either', async () => {
    await (await open()).store.close()
    const other = 'fedcba9876543210'.repeat(4)
    const env = {
      COUNTERSIGN_DATA_DIR: folder,
      COUNTERSIGN_BASE_URL: BASE_URL,
      COUNTERSIGN_MASTER_KEY: other,
    }
    const { code, noted } = await run(['rotate-issuer-key'], env)
    expect(code).toBe(1)
    expect(noted).toContain('another master key')
    expect(noted).not.toMatch(new RegExp(`${other}|${MASTER_KEY}`))
  })
})

describe('rotate-feed-key', () => {
  test('makes a new feed key and leaves the issuer key alone', async () => {
    await (await open()).store.close()
    expect(await here('rotate-feed-key')).toMatchObject({
      code: 0,
      said: expect.stringMatching(/^New feed key z6Mk/),
    })
    const { store, keys } = await open()
    expect([keys.feedKeys.length, keys.issuerKeys.length]).toEqual([2, 1])
    await store.close()
  })
  test('S6 --compromised signs with the committed key at once and withdraws all others', async () => {
    const before = await open()
    const [{ next_sha256: committed, kid: leaked }] = before.keys.feedKeyChain.slice(-1) as [FeedKeyStatement]
    await before.store.close()
    const { code, said } = await here('rotate-feed-key', '--compromised')
    expect(code).toBe(0)
    const [, id] =
      /^New feed key (z6Mk\S+), signing from now on\. All earlier feed keys are withdrawn\.$/.exec(said) ?? []
    expect(await feedKeySha256(parseFeedKey(id) as never)).toBe(committed)
    const { store, keys } = await open()
    expect(keys.feedKeys.map(({ kid }) => kid)).toEqual([id])
    expect(keys.feedKey(Date.now()).kid).toBe(id)
    expect(JSON.stringify([keys.didDocument(), keys.jwks()])).not.toContain(leaked)
    expect((await store.auditRows(null, newest))[0]).toMatchObject({
      target: id,
      detail: { use: 'feed', compromised: true },
    })
    await store.close()
  })
  test('--compromised includes --now', async () => {
    expect(await here('rotate-feed-key', '--compromised', '--now')).toMatchObject({ code: 2 })
  })
  test('is refused while the service owns the store', async () => {
    const { store, keys } = await open()
    expect(await here('rotate-feed-key')).toMatchObject({ code: 1 })
    await keys.reload(Date.now())
    expect(keys.feedKeys).toHaveLength(1)
    await store.close()
  })
})

describe('operator keys', () => {
  test('are made, listed and deleted, and only the first shows a secret', { tags: 'long' }, async () => {
    const made = await here('create-operator-key', 'for the night shift')
    expect(made).toMatchObject({ code: 0, said: expect.stringMatching(/^svc_sk_[0-9A-Za-z]+$/) })
    const [keyId = ''] = /key_\w+/.exec(made.noted) ?? []
    const listed = await here('operator-keys')
    expect(listed.said).toMatch(
      new RegExp(
        `^KEY +ENDS WITH  CREATED +LABEL\n${keyId}  …${made.said.slice(-4)}      \\d{4}-\\S+Z  for the night shift$`,
      ),
    )
    expect(listed.said + listed.noted).not.toContain(made.said)

    const { store } = await open()
    expect(await store.apiKeyBySha256(secretSha256(made.said))).toMatchObject({ siteId: null, keyId })
    expect((await store.auditRows(null, newest))[0]).toMatchObject({
      target: keyId,
      context: { actor: 'operator' },
    })
    await store.close()

    expect(await here('delete-operator-key', keyId)).toMatchObject({ code: 0, said: `Deleted ${keyId}.` })
    expect(await here('delete-operator-key', keyId)).toMatchObject({ code: 1, said: '' })
    expect(await here('operator-keys')).toMatchObject({
      code: 0,
      said: '',
      noted: expect.stringContaining('create-operator-key'),
    })
  })
  test('need neither an address nor a master key', async () => {
    expect(await run(['create-operator-key', '--data-dir', folder])).toMatchObject({ code: 0 })
  })
  test('take no endless label', async () => {
    expect(await here('create-operator-key', 'x'.repeat(65))).toMatchObject({ code: 2 })
  })
})
