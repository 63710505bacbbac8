import { randomBytes } from 'node:crypto'
import {
  checkFeedKeyStatement,
  checkHeartbeat,
  type FeedKeyStatement,
  feedKeySha256,
  issueCredential,
  parseFeedKey,
  parseMultikey,
  parseSiteId,
  readDidDocument,
  signHeartbeat,
} from '@countersign/core'
import { didDocumentSchema, jwksSchema } from '@countersign/core/contract'
import { describe, expect, it } from 'vitest'
import { KEY_LEAD_MS, openServiceKeys, type ServiceKeys } from '../../src/keys/service-keys.ts'
import { SealBroken } from '../../src/sealing/sealer.ts'
import { forEachSharedStore } from '../stores.ts'
import { createSecrets } from './secrets-double.ts'

const NOW = Date.UTC(2026, 10, 14, 12)
const DAY = 86_400_000
const HOUR = 3_600_000
const masterKey = randomBytes(32)
const open = (store: ReturnType<typeof createSecrets>, at = NOW, key = masterKey) =>
  openServiceKeys(store, key, 'https://auth.example', at)

describe('openServiceKeys', () => {
  it('makes an issuer key and a feed key at the first start, and finds the same again', async () => {
    const store = createSecrets()
    const first = await open(store)
    const again = await open(store, NOW + DAY)
    expect(again.signer(NOW).verificationMethod).toBe(first.signer(NOW).verificationMethod)
    expect(again.feedKey(NOW).kid).toBe(first.feedKey(NOW).kid)
    expect(first.feedKey(NOW).kid).not.toBe(first.issuerKeys[0]?.id)
  })

  it('agrees with another node that starts in the same moment', async () => {
    const store = createSecrets()
    const nodes = await Promise.all(Array.from({ length: 5 }, () => open(store)))
    expect(new Set(nodes.map((keys) => keys.signer(NOW).verificationMethod)).size).toBe(1)
    expect(new Set(nodes.map((keys) => keys.feedKey(NOW).kid)).size).toBe(1)
    expect(nodes.map((keys) => keys.issuerKeys.length)).toEqual([1, 1, 1, 1, 1])
  })

  it('keeps nothing readable in the store', async () => {
    const store = createSecrets()
    await open(store)
    for (const sealed of store.all.values()) {
      const bytes = Buffer.from(sealed.split('.')[2] ?? '', 'base64url').toString('latin1')
      expect(sealed + bytes).not.toMatch(/"d":|"kty"|"jwk"/)
    }
  })

  it('refuses to start under another master key', async () => {
    const store = createSecrets()
    await open(store)
    await expect(open(store, NOW, randomBytes(32))).rejects.toThrow(SealBroken)
  })

  it('refuses a key that was put in the place of another', async () => {
    const store = createSecrets()
    await open(store)
    store.all.set('service-key:issuer:1', store.all.get('service-key:feed:1') ?? '')
    await expect(open(store)).rejects.toThrow(SealBroken)
  })

  it('shows no private key, however it is looked at', async () => {
    const keys = await open(createSecrets())
    const shown = JSON.stringify([
      keys,
      keys.signer(NOW),
      keys.feedKey(NOW),
      keys.didDocument(),
      keys.jwks(),
      keys.issuerKeys,
    ])
    expect(shown).not.toMatch(/"d":/)
  })

  it.each([
    ['https://auth.example', 'did:web:auth.example'],
    ['https://auth.example:8443', 'did:web:auth.example%3A8443'],
    ['https://auth.example:443', 'did:web:auth.example'],
    ['http://localhost:8787', 'did:web:localhost%3A8787'],
    ['http://127.0.0.1:8787', 'did:web:127.0.0.1%3A8787'],
    ['http://[::1]:8787', 'did:web:%5B%3A%3A1%5D%3A8787'],
  ])('is, at %s, %s', async (baseUrl, did) => {
    const keys = await openServiceKeys(createSecrets(), masterKey, baseUrl, NOW)
    expect(keys.issuerDid).toBe(did)
    expect(keys.signer(NOW).issuer).toBe(did)
  })
})

describe('documents', () => {
  it('publishes both keys, and only the issuer key as one that may sign credentials', async () => {
    const keys = await open(createSecrets())
    const document = keys.didDocument()
    expect(didDocumentSchema.safeParse(document).success).toBe(true)
    expect(document.verificationMethod.map(({ id }) => id)).toEqual([
      `did:web:auth.example#${keys.issuerKeys[0]?.id}`,
      `did:web:auth.example#${keys.feedKeys[0]?.kid}`,
    ])
    expect(document.assertionMethod).toEqual([keys.signer(NOW).verificationMethod])
  })

  it('A058: a verifier that reads the document as an issuer finds no feed key in it', async () => {
    const keys = await open(createSecrets())
    await keys.rotate('feed', NOW)
    const read = readDidDocument(JSON.parse(JSON.stringify(keys.didDocument())), keys.issuerDid)
    expect(read).toMatchObject({ keys: [{ id: keys.issuerKeys[0]?.id }], leftOut: [] })
  })

  it('has a JWK of each key, without the private part', async () => {
    const keys = await open(createSecrets())
    const jwks = keys.jwks()
    expect(jwksSchema.safeParse(jwks).success).toBe(true)
    expect(jwks.keys).toHaveLength(2)
    expect(Object.keys(jwks.keys[0] ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
  })

  it('signs heads with a key that is published', async () => {
    const keys = await open(createSecrets())
    const { kid, key } = keys.feedKey(NOW)
    const head = {
      site_id: parseSiteId('a.example') as never,
      epoch: 'epoch0000',
      seq: 1,
      hash: '0'.repeat(64),
      as_of: '2026-11-14T12:00:00Z',
      max_age_seconds: 60,
      kid,
    }
    const published = keys.feedKeys.find((feed) => feed.kid === kid)?.key
    expect(published && (await checkHeartbeat(await signHeartbeat(head, key), published))).toBeDefined()
  })

  it('signs the largest credential there can be, under the longest host name', async () => {
    const host = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`
    const keys = await openServiceKeys(createSecrets(), masterKey, `https://${host}`, NOW)
    const holder = parseMultikey(keys.feedKey(NOW).kid)
    const grant = {
      credentialId: `cred_${'9'.repeat(26)}`,
      ppid: `did:service:ppid_${'p'.repeat(128)}`,
      siteId: host,
      scope: Array.from({ length: 32 }, (_, i) => `${i}`.padStart(2, '0').padEnd(128, 's')),
      permissionId: 'p'.repeat(64),
      holderKey: `did:key:${holder?.multikey}`,
      validFromMs: NOW,
      validUntilMs: NOW + DAY,
    }
    await expect(issueCredential(grant, { ...keys.signer(NOW), createdMs: NOW })).resolves.toBeDefined()
  })
})

describe('rotate', () => {
  it('publishes a new key at once, and signs with it when every node has had time to publish it', async () => {
    const keys = await open(createSecrets())
    const old = keys.signer(NOW).verificationMethod
    const id = await keys.rotate('issuer', NOW)
    expect(keys.issuerKeys.map((key) => key.id)).toEqual([old.split('#')[1], id])
    expect(keys.didDocument().assertionMethod).toEqual([old, `${keys.issuerDid}#${id}`])
    expect(keys.signer(NOW + KEY_LEAD_MS - 1).verificationMethod).toBe(old)
    expect(keys.signer(NOW + KEY_LEAD_MS).verificationMethod).toBe(`${keys.issuerDid}#${id}`)
  })

  it('signs with it at once when told so', async () => {
    const keys = await open(createSecrets())
    const id = await keys.rotate('feed', NOW, { leadMs: 0 })
    expect(keys.feedKey(NOW).kid).toBe(id)
    expect(keys.feedKeys).toHaveLength(2)
    expect(keys.issuerKeys).toHaveLength(1)
  })

  it('reaches another node when that looks again', async () => {
    const store = createSecrets()
    const [a, b] = [await open(store), await open(store)]
    const id = await a.rotate('issuer', NOW)
    expect(b.issuerKeys).toHaveLength(1)
    expect(await b.reload(NOW)).toBe(true)
    expect(await b.reload(NOW)).toBe(false)
    expect(b.signer(NOW + KEY_LEAD_MS).verificationMethod).toBe(`${a.issuerDid}#${id}`)
  })

  it('makes one key when two nodes do it in the same moment', async () => {
    const store = createSecrets()
    const [a, b] = [await open(store), await open(store)]
    const [one, two] = await Promise.all([a.rotate('issuer', NOW), b.rotate('issuer', NOW)])
    expect(one).toBe(two)
    expect(store.all.has('service-key:issuer:3')).toBe(false)
  })

  it('makes another key when told to sign at once while a planned one is waiting', async () => {
    const store = createSecrets()
    const [a, b] = [await open(store), await open(store)]
    const planned = await a.rotate('issuer', NOW)
    const urgent = await b.rotate('issuer', NOW, { leadMs: 0 })
    expect(urgent).not.toBe(planned)
    expect(b.signer(NOW).verificationMethod).toBe(`${b.issuerDid}#${urgent}`)
  })

  it('goes on publishing an old key until all it signed has expired, and no longer', async () => {
    const store = createSecrets()
    const keys = await open(store)
    const first = keys.issuerKeys[0]?.id
    await keys.rotate('issuer', NOW, { leadMs: 0 })
    await keys.reload(NOW + 366 * DAY)
    expect(keys.issuerKeys[0]?.id).toBe(first)
    const later = NOW + 368 * DAY
    await keys.reload(later)
    expect(keys.issuerKeys.map(({ id }) => id)).not.toContain(first)
    expect((await open(store, later)).issuerKeys).toHaveLength(1)
  })

  it('refuses to publish more keys than a site can trust', async () => {
    const keys = await open(createSecrets())
    for (let i = 1; i < 32; i++) await keys.rotate('issuer', NOW + i, { leadMs: 0 })
    await expect(keys.rotate('issuer', NOW + 32, { leadMs: 0 })).rejects.toThrow('at most 32')
    expect(keys.issuerKeys).toHaveLength(32)
  })

  it('changes nothing when the store fails, and works afterwards', async () => {
    const store = createSecrets()
    const keys = await open(store)
    store.fail = true
    await expect(keys.rotate('issuer', NOW)).rejects.toThrow()
    expect(keys.issuerKeys).toHaveLength(1)
    store.fail = false
    await keys.rotate('issuer', NOW)
    expect(keys.issuerKeys).toHaveLength(2)
  })
})

/** Checks every signature and commitment of the chain. */
async function isLinked({ feedKeyChain }: ServiceKeys): Promise<boolean> {
  for (const [index, statement] of feedKeyChain.entries()) {
    const previous = feedKeyChain[index - 1]
    const key = await checkFeedKeyStatement(
      statement,
      previous && parseFeedKey(previous.public_key_multibase),
    )
    if (key === undefined || statement.kid !== key.multikey) return false
    if (previous !== undefined && previous.next_sha256 !== (await feedKeySha256(key))) return false
    if (previous !== undefined && statement.previous_kid !== previous.kid) return false
  }
  return feedKeyChain.length > 0
}

describe('S3 the chain of feed keys', () => {
  it('begins with a statement of the first key that commits to the next', async () => {
    const keys = await open(createSecrets())
    expect(keys.feedKeyChain).toMatchObject([
      {
        kid: keys.feedKey(NOW).kid,
        previous_kid: null,
        previous_signature: null,
        previous_compromised: false,
        at: '2026-11-14T12:00:00Z',
      },
    ])
    expect(await isLinked(keys)).toBe(true)
  })

  it('has the next key ready before the rotation, in the store and on no list', async () => {
    const store = createSecrets()
    const keys = await open(store)
    const [{ next_sha256: committed }] = keys.feedKeyChain as [FeedKeyStatement]
    expect(store.all.has('service-key:feed:2')).toBe(true)
    expect(keys.feedKeys).toHaveLength(1)
    expect(keys.didDocument().verificationMethod).toHaveLength(2)
    const id = await keys.rotate('feed', NOW)
    expect(await feedKeySha256(parseFeedKey(id) as never)).toBe(committed)
    expect(await isLinked(keys)).toBe(true)
    expect(keys.feedKeyChain.at(-1)).toMatchObject({
      kid: id,
      at: '2026-11-14T12:01:00Z',
      previous_compromised: false,
    })
  })

  it('is the same on every node and after a restart, and shows the last 16 keys', async () => {
    const store = createSecrets()
    const keys = await open(store)
    for (let i = 1; i <= 20; i++) await keys.rotate('feed', NOW + i * HOUR)
    expect(keys.feedKeyChain).toHaveLength(16)
    expect(await isLinked(keys)).toBe(true)
    const again = await open(store, NOW + 20 * HOUR)
    expect(again.feedKeyChain).toEqual(keys.feedKeyChain)
  })

  it('goes on after a node died between preparing a key and using it', async () => {
    const store = createSecrets()
    await open(store)
    const before = new Map(store.all)
    const put = store.putSecret
    store.putSecret = async (name, ...rest) => {
      if (name.endsWith(':use')) throw new Error('killed')
      return put(name, ...rest)
    }
    await expect((await open(store)).rotate('feed', NOW)).rejects.toThrow('killed')
    store.putSecret = put
    expect(store.all.size).toBe(before.size + 1)
    const keys = await open(store)
    expect(keys.feedKeys).toHaveLength(1)
    await keys.rotate('feed', NOW)
    expect(await isLinked(keys)).toBe(true)
  })

  it('refuses a use that was put in the place of another', async () => {
    const store = createSecrets()
    const keys = await open(store)
    await keys.rotate('feed', NOW)
    store.all.set('service-key:feed:1:use', store.all.get('service-key:feed:2:use') ?? '')
    await expect(open(store)).rejects.toThrow(SealBroken)
  })
})

describe('S6 a superseded feed key', () => {
  it('is withdrawn one hour after its successor began to sign, on every list, while issuer keys stay', async () => {
    const keys = await open(createSecrets())
    const { kid } = keys.feedKey(NOW)
    await keys.rotate('feed', NOW)
    await keys.rotate('issuer', NOW)
    const from = NOW + KEY_LEAD_MS
    await keys.reload(from + HOUR - 1)
    expect(keys.feedKeys.map((key) => key.kid)).toContain(kid)
    await keys.reload(from + HOUR)
    expect(keys.feedKeys.map((key) => key.kid)).not.toContain(kid)
    expect(JSON.stringify([keys.didDocument(), keys.jwks()])).not.toContain(kid)
    expect(keys.issuerKeys).toHaveLength(2)
  })

  it('is withdrawn at once when it is compromised, with all keys before it, on this node and on others', async () => {
    const store = createSecrets()
    const [a, b] = [await open(store), await open(store)]
    await a.rotate('feed', NOW, { leadMs: 0 })
    await a.rotate('feed', NOW)
    await b.reload(NOW)
    expect(b.feedKeys).toHaveLength(3)
    const id = await a.replaceCompromisedFeedKey(NOW + 5_000)
    for (const node of [a, b]) {
      await node.reload(NOW + 5_000)
      expect(node.feedKeys.map(({ kid }) => kid)).toEqual([id])
      expect(node.feedKey(NOW + 5_000).kid).toBe(id)
      // A clock that is behind does not bring the old key back.
      for (const behind of [NOW + 4_999, NOW, NOW - DAY]) expect(node.feedKey(behind).kid).toBe(id)
      expect(node.feedKeyChain.at(-1)).toMatchObject({ kid: id, previous_compromised: true })
      expect(await isLinked(node)).toBe(true)
    }
    expect((await open(store)).feedKeys.map(({ kid }) => kid)).toEqual([id])
  })

  it('is replaced by the key that was committed to before', async () => {
    const keys = await open(createSecrets())
    const committed = keys.feedKeyChain.at(-1)?.next_sha256
    expect(await feedKeySha256(parseFeedKey(await keys.replaceCompromisedFeedKey(NOW)) as never)).toBe(
      committed,
    )
  })

  it('is replaced even when as many keys are published as may be', async () => {
    const keys = await open(createSecrets())
    for (let i = 1; i < 16; i++) await keys.rotate('feed', NOW + i, { leadMs: 0 })
    await expect(keys.rotate('feed', NOW + 16, { leadMs: 0 })).rejects.toThrow('At most 16')
    await keys.replaceCompromisedFeedKey(NOW + 16)
    expect(keys.feedKeys).toHaveLength(1)
  })
})

forEachSharedStore('the keys of the service', (open) => {
  it('are agreed upon by nodes that start at once, and that rotate at once', async () => {
    const nodes = await Promise.all(
      Array.from({ length: 8 }, () => openServiceKeys(open(), masterKey, 'https://auth.example', NOW)),
    )
    expect(new Set(nodes.map((keys) => keys.signer(NOW).verificationMethod)).size).toBe(1)
    expect(new Set(nodes.map((keys) => keys.feedKey(NOW).kid)).size).toBe(1)
    const rotated = await Promise.all(nodes.map((keys) => keys.rotate('issuer', NOW)))
    expect(new Set(rotated).size).toBe(1)
    for (const keys of nodes) {
      await keys.reload(NOW)
      expect(keys.issuerKeys).toHaveLength(2)
    }
  })

  it('S3 S6 have one chain on all nodes, and lose a compromised key on all of them', async () => {
    const nodes = await Promise.all(
      Array.from({ length: 4 }, () => openServiceKeys(open(), masterKey, 'https://auth.example', NOW)),
    )
    const [first] = nodes as [ServiceKeys]
    const committed = first.feedKeyChain.at(-1)?.next_sha256
    const [old] = first.feedKeys.slice(-1)
    const ids = await Promise.all(nodes.map((keys) => keys.replaceCompromisedFeedKey(NOW + DAY)))
    expect(new Set(ids).size).toBe(1)
    expect(await feedKeySha256(parseFeedKey(ids[0]) as never)).toBe(committed)
    for (const keys of nodes) {
      await keys.reload(NOW + DAY)
      expect(keys.feedKeys.map(({ kid }) => kid)).toEqual([ids[0]])
      expect(keys.feedKeys.map(({ kid }) => kid)).not.toContain(old?.kid)
      expect(keys.feedKeyChain).toEqual(first.feedKeyChain)
      expect(await isLinked(keys)).toBe(true)
    }
  })
})
