import type { KeyState, PublicKey } from '@countersign/core'
import { issueCredential, publicKeyToJwk } from '@countersign/core'
import { beforeEach, describe, expect, it } from 'vitest'
import { refreshIssuers } from '../../../../src/did-web/refresh-issuers.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { multikeyOf } from '../../../base58.ts'
import { keyOf, NOWHERE } from '../../../node.ts'
import { issued, NOW, newParty, type Party } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const OWN = 'did:web:service.example'

/**
 * RFC 8032 §5.1.3 and its neighbours: points that anonymous can sign for, in canonical and other
 * spellings.
 */
const LOW_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000080',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
].map((hex) => Buffer.from(hex, 'hex'))

forEachSharedStore('issuers', (open) => {
  let A = newSiteId()
  let B = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    B = newSiteId()
    WEB = `did:web:${A}`
  })
  let WEB = `did:web:${A}`
  /** What was fetched of this test's own did:web; others may be at work at other sites. */
  const fetches = (node: AdminNode) => node.fetched.filter((did) => did === WEB)

  const begin = async (): Promise<AdminNode> => {
    const node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
    return node
  }
  const add = (node: AdminNode, body: unknown, caller = keyOf(A), site_id: string = A) =>
    node.admin('add_issuer', { params: { site_id }, body, caller })
  const change = (node: AdminNode, issuer: string, body: unknown, caller = keyOf(A)) =>
    node.admin('change_issuer', { params: { site_id: A, issuer }, body, caller })
  const setKey = (node: AdminNode, issuer: string, key: string, status: string) =>
    node.admin('change_issuer_key', {
      params: { site_id: A, issuer, key },
      body: { status },
      caller: keyOf(A),
    })
  const list = async (node: AdminNode) =>
    (await node.admin('list_issuers', { params: { site_id: A }, query: 'limit=200', caller: keyOf(A) })).body
      .items as {
      issuer: string
      keys: KeyState[]
      status: string
    }[]
  const find = async (node: AdminNode, issuer: string) =>
    (await list(node)).find((row) => row.issuer === issuer)
  const jwkDid = (key: PublicKey) =>
    `did:jwk:${Buffer.from(JSON.stringify(publicKeyToJwk(key))).toString('base64url')}`

  /** Signed by a key of a did:web. */
  const webCredential = (party: Party, id: string, createdMs = NOW) =>
    issueCredential(
      {
        credentialId: 'cred_0123456789',
        ppid: 'did:service:ppid_0123456789',
        siteId: A,
        scope: ['orders:read'],
        validFromMs: NOW - 1000,
        validUntilMs: NOW + 3_600_000,
      },
      { issuer: WEB, verificationMethod: `${WEB}#${id}`, key: party.key, createdMs },
    )

  describe('POST …/issuers', () => {
    it('201: trusts a did:key and a did:jwk with the key they carry', async () => {
      const node = await begin()
      const issuer = await newParty()
      const { body } = await add(node, {
        issuer: issuer.did,
        scope: ['orders:read'],
        credential_ttl_seconds_max: 7200,
        label: 'ours',
      })
      expect(body).toEqual({
        type: 'credential',
        issuer: issuer.did,
        issuer_id: expect.stringMatching(/^iss_[0-9a-f]{26}$/),
        keys: [{ id: issuer.keyId, key: issuer.keyId, status: 'active' }],
        scope: ['orders:read'],
        credential_ttl_seconds_max: 7200,
        label: 'ours',
        keys_refreshed_at: null,
        status: 'trusted',
        created_at: '2026-11-14T12:00:00Z',
      })
      const jwk = await add(node, { issuer: jwkDid(issuer.key.publicKey) })
      expect(jwk).toMatchObject({
        status: 201,
        body: { keys: [{ id: '0', key: issuer.keyId }], scope: null, label: null },
      })
      expect(node.fetched).toEqual([])
    })

    it('201: what it signs is accepted when the answer comes', async () => {
      const node = await begin()
      const issuer = await newParty()
      const { header } = await issued(issuer, { siteId: A, validUntilMs: NOW + 3_600_000 })
      expect((await node.context(header)).code).toBe('issuer_untrusted')
      await add(node, { issuer: issuer.did })
      expect((await node.context(header)).status).toBe(200)
    })

    it('201: fetches a did:web once', async () => {
      const node = await begin()
      const party = await newParty()
      node.documents.set(WEB, [{ id: 'key-1', key: party.key.publicKey }])
      expect(await add(node, { issuer: WEB })).toMatchObject({
        status: 201,
        body: { keys: [{ id: 'key-1', key: party.keyId, status: 'active' }] },
      })
      expect((await node.show(await webCredential(party, 'key-1'))).status).toBe(200)
      expect(fetches(node)).toEqual([WEB])
    })

    it('201: pins the keys of a did:web and fetches nothing, now or later', async () => {
      const node = await begin()
      const party = await newParty()
      expect(await add(node, { issuer: WEB, keys: [party.keyId] })).toMatchObject({
        status: 201,
        body: { keys: [{ id: party.keyId, key: party.keyId, status: 'active' }] },
      })
      await refreshIssuers(node.deps)
      expect(fetches(node)).toEqual([])
      expect((await node.show(await webCredential(party, party.keyId))).status).toBe(200)
    })

    it('A061: counts at its own site only', async () => {
      const node = await begin()
      await node.admin('create_site', { body: { site_id: B } })
      const issuer = await newParty()
      await add(node, { issuer: issuer.did }, keyOf(B), B)
      expect((await node.context((await issued(issuer, { siteId: A })).header)).code).toBe('issuer_untrusted')
      expect(await find(node, issuer.did)).toBeUndefined()
    })

    it('404: another site looks like one that does not exist', async () => {
      const node = await begin()
      const { did } = await newParty()
      const told = [
        await add(node, { issuer: did }, keyOf(B)),
        await add(node, { issuer: did }, keyOf(A), NOWHERE),
        await node.admin('add_issuer', { params: { site_id: NOWHERE }, body: { issuer: did } }),
      ]
      for (const { status, body } of told) expect([status, body.code]).toEqual([404, 'not_found'])
    })

    it('422 when the site knows as many as it may', async () => {
      const node = await begin()
      const { store } = node.deps
      const asked: (number | undefined)[] = []
      store.addIssuer = async (_issuer, _act, issuersMax) => {
        asked.push(issuersMax)
        return 'too_many'
      }
      const refused = await add(node, { issuer: (await newParty()).did })
      expect([refused.code, refused.body.errors[0].path, asked]).toEqual([
        'validation_failed',
        'issuer',
        [1000],
      ])
    })

    it('409: refuses a second one, without fetching it', async () => {
      const node = await begin()
      const issuer = await newParty()
      node.documents.set(WEB, [{ id: 'key-1', key: issuer.key.publicKey }])
      await add(node, { issuer: issuer.did })
      await add(node, { issuer: WEB })
      for (const did of [issuer.did, WEB, OWN])
        expect(await add(node, { issuer: did }), did).toMatchObject({ status: 409, code: 'already_exists' })
      expect(fetches(node)).toEqual([WEB])
    })

    it('A050, A052, A053: rejects weak, non-canonical and foreign keys, in a DID and pinned', async () => {
      const node = await begin()
      const bytes = Buffer.from((await newParty()).key.publicKey.bytes)
      const bad = [
        ...LOW_ORDER.map((point) => multikeyOf(point)),
        multikeyOf(Buffer.from(`f0${'ff'.repeat(30)}7f`, 'hex')),
        multikeyOf(bytes, [0xec, 0x01]),
        multikeyOf(bytes, [0x83, 0x24]),
        multikeyOf(bytes.subarray(1)),
        multikeyOf(Buffer.concat([bytes, Buffer.alloc(1)])),
        multikeyOf(bytes, []),
        // On no curve: about half of all numbers are no y of a point.
        ...Array.from({ length: 8 }, (_, i) => multikeyOf(Buffer.from([2 + i, ...Buffer.alloc(31)]))).filter(
          (key) => key !== undefined,
        ),
      ]
      let rejected = 0
      for (const key of bad) {
        const told = await add(node, { issuer: `did:key:${key}` })
        const pinned = await add(node, { issuer: WEB, keys: [key] })
        expect(pinned.status).toBe(told.status)
        if (told.status === 201) continue
        rejected++
        expect([told.code, pinned.code], key).toEqual(['key_rejected', 'key_rejected'])
      }
      // Small numbers may be points of the large group; those are sound.
      expect(rejected).toBeGreaterThanOrEqual(LOW_ORDER.length + 6)
      for (const issuer of [
        `did:key:m${bytes.toString('base64')}`,
        `did:key:u${bytes.toString('base64url')}`,
        `did:key:f${bytes.toString('hex')}`,
      ]) {
        expect((await add(node, { issuer })).status).toBe(422)
      }
    })

    it('422: says which of several pinned keys is not accepted, and stores nothing', async () => {
      const node = await begin()
      const { keyId } = await newParty()
      const told = await add(node, { issuer: WEB, keys: [keyId, multikeyOf(LOW_ORDER[0] as Buffer)] })
      expect(told).toMatchObject({
        status: 422,
        code: 'key_rejected',
        body: { errors: [{ path: 'keys.1' }] },
      })
      expect(await find(node, WEB)).toBeUndefined()
    })

    it('422: a did:web that cannot be fetched, or says that nothing signs for it, is not stored', async () => {
      const node = await begin()
      const position = await node.deps.store.logPosition()
      expect(await add(node, { issuer: WEB })).toMatchObject({ status: 422, code: 'key_rejected' })
      node.documents.set(WEB, [])
      expect(await add(node, { issuer: WEB })).toMatchObject({ status: 422, code: 'key_rejected' })
      expect(await node.deps.store.logPosition()).toBe(position)
    })

    it('422: refuses what is no issuer, or no way to describe one', async () => {
      const node = await begin()
      const { did, keyId } = await newParty()
      const refused = [
        ...[
          'issuer',
          'did:example:x',
          'did:key:',
          'https://issuer.example',
          '',
          7,
          "' OR 1=1 --",
          'did:web:аpple.com',
        ].map((issuer) => ({
          issuer,
        })),
        ...[
          'did:web:127.0.0.1',
          'did:web:2130706433',
          'did:web:0x7f.1',
          'did:web:a.example%2Fx',
          'did:web:A.example',
          'did:web:a.example:..:x',
        ].map((issuer) => ({ issuer, keys: [keyId] })),
        { issuer: did, keys: [keyId] },
        { issuer: WEB, keys: [] },
        { issuer: WEB, keys: [keyId, keyId] },
        { issuer: did, scope: [] },
        { issuer: did, scope: ['a', 'a'] },
        { issuer: did, credential_ttl_seconds_max: 0 },
        { issuer: did, credential_ttl_seconds_max: 367 * 86_400 },
        { issuer: did, label: 'x'.repeat(65) },
        { issuer: did, status: 'trusted' },
      ]
      for (const body of refused) expect((await add(node, body)).status, JSON.stringify(body)).toBe(422)
      expect(await list(node)).toHaveLength(1)
      expect(node.fetched).toEqual([])
    })
  })

  describe('PATCH …/issuers/{issuer}', () => {
    it('A062: distrusts at once, and trusts again', async () => {
      const node = await begin()
      const issuer = await newParty()
      await add(node, { issuer: issuer.did })
      const { header, document } = await issued(issuer, { siteId: A })
      const token = await node.tokenFor(document)
      expect((await change(node, issuer.did, { status: 'distrusted' })).body.status).toBe('distrusted')
      expect((await node.context(header)).code).toBe('issuer_untrusted')
      expect((await node.bearer(token)).code).toBe('token_invalid')
      expect((await change(node, issuer.did, { status: 'trusted' })).body.status).toBe('trusted')
      expect((await node.context(header)).status).toBe(200)
    })

    it('changes cap, longest life and label, and lifts them with null', async () => {
      const node = await begin()
      const issuer = await newParty()
      await add(node, { issuer: issuer.did })
      const { header } = await issued(issuer, { siteId: A })
      await change(node, issuer.did, { scope: ['other'], label: 'x' })
      expect((await node.context(header)).code).toBe('scope_insufficient')
      await change(node, issuer.did, { scope: null, credential_ttl_seconds_max: 60 })
      expect((await node.context(header)).code).toBe('issuer_untrusted')
      const { body } = await change(node, issuer.did, { credential_ttl_seconds_max: null, label: null })
      expect(body).toMatchObject({ scope: null, credential_ttl_seconds_max: null, label: null })
      expect((await node.context(header)).status).toBe(200)
    })

    it('pins the keys of a did:web that was fetched, which keep their names, and fetches it no more', async () => {
      const node = await begin()
      const [one, two] = [await newParty(), await newParty()]
      node.documents.set(WEB, [{ id: 'key-1', key: one.key.publicKey }])
      await add(node, { issuer: WEB })
      const { body } = await change(node, WEB, { keys: [one.keyId, two.keyId] })
      expect(body.keys).toEqual([
        { id: 'key-1', key: one.keyId, status: 'active' },
        { id: two.keyId, key: two.keyId, status: 'active' },
      ])
      node.documents.set(WEB, [])
      await refreshIssuers(node.deps)
      expect(fetches(node)).toEqual([WEB])
      expect((await node.show(await webCredential(one, 'key-1'))).status).toBe(200)
    })

    it('never brings a compromised key back by naming it again, nor a retired one', async () => {
      const node = await begin()
      const [one, two] = [await newParty(), await newParty()]
      await add(node, { issuer: WEB, keys: [one.keyId, two.keyId] })
      await setKey(node, WEB, one.keyId, 'compromised')
      await setKey(node, WEB, two.keyId, 'retired')
      await change(node, WEB, { keys: [two.keyId] })
      const { body } = await change(node, WEB, { keys: [one.keyId, two.keyId] })
      expect(Object.fromEntries(body.keys.map(({ id, status }: KeyState) => [id, status]))).toEqual({
        [one.keyId]: 'compromised',
        [two.keyId]: 'retired',
      })
      expect((await node.show(await webCredential(one, one.keyId))).code).toBe('issuer_untrusted')
    })

    it('fetches a did:web again before trusting it again', async () => {
      const node = await begin()
      const [one, two] = [await newParty(), await newParty()]
      node.documents.set(WEB, [{ id: 'key-1', key: one.key.publicKey }])
      await add(node, { issuer: WEB })
      await change(node, WEB, { status: 'distrusted' })
      node.documents.delete(WEB)
      expect(await change(node, WEB, { status: 'trusted' })).toMatchObject({
        status: 422,
        code: 'key_rejected',
      })
      node.documents.set(WEB, [{ id: 'key-2', key: two.key.publicKey }])
      expect((await change(node, WEB, { status: 'trusted' })).body.keys).toMatchObject([
        { id: 'key-2', key: two.keyId },
      ])
    })

    it('404: an unknown issuer, and one of another site', async () => {
      const node = await begin()
      const { did } = await newParty()
      expect(await change(node, did, { status: 'trusted' })).toMatchObject({ status: 404, code: 'not_found' })
      expect(await change(node, OWN, { status: 'distrusted' }, keyOf(B))).toMatchObject({
        status: 404,
        code: 'not_found',
      })
      expect(node.deps.views.view(A)?.issuer(OWN)).toBeDefined()
    })

    it('422: an unknown status, an empty cap, keys of a DID that has its own, keys of the service itself', async () => {
      const node = await begin()
      const issuer = await newParty()
      await add(node, { issuer: issuer.did })
      for (const body of [{ status: 'maybe' }, { scope: [] }, { keys: [issuer.keyId] }, { colour: 'red' }]) {
        expect(await change(node, issuer.did, body), JSON.stringify(body)).toMatchObject({
          status: 422,
          code: 'validation_failed',
        })
      }
      expect(await change(node, OWN, { keys: [issuer.keyId] })).toMatchObject({
        status: 422,
        code: 'validation_failed',
      })
      expect(await change(node, OWN, { keys: ['z6MkNot'] })).toMatchObject({
        status: 422,
        code: 'key_rejected',
      })
    })
  })

  describe('PATCH …/issuers/{issuer}/keys/{key}', () => {
    it('retired: still counts for what it signed before', async () => {
      const node = await begin()
      const party = await newParty()
      await add(node, { issuer: WEB, keys: [party.keyId] })
      node.clock.pass(5000)
      const { body } = await setKey(node, WEB, party.keyId, 'retired')
      expect(body.keys).toEqual([
        { id: party.keyId, key: party.keyId, status: 'retired', retired_at: '2026-11-14T12:00:05Z' },
      ])
      expect((await node.show(await webCredential(party, party.keyId, NOW))).status).toBe(200)
      expect((await node.show(await webCredential(party, party.keyId, NOW + 6000))).code).toBe(
        'issuer_untrusted',
      )
      await setKey(node, WEB, party.keyId, 'active')
      expect((await node.show(await webCredential(party, party.keyId, NOW + 6000))).status).toBe(200)
    })

    it('compromised: counts for nothing, permanently', async () => {
      const node = await begin()
      const issuer = await newParty()
      await add(node, { issuer: issuer.did })
      const { header, document } = await issued(issuer, { siteId: A })
      const token = await node.tokenFor(document)
      expect((await setKey(node, issuer.did, issuer.keyId, 'compromised')).body.keys).toMatchObject([
        { status: 'compromised' },
      ])
      expect((await node.context(header)).code).toBe('issuer_untrusted')
      expect((await node.bearer(token)).code).toBe('token_invalid')
      for (const status of ['active', 'retired']) {
        expect(await setKey(node, issuer.did, issuer.keyId, status)).toMatchObject({
          status: 422,
          code: 'validation_failed',
        })
      }
      expect((await setKey(node, issuer.did, issuer.keyId, 'compromised')).status).toBe(200)
      await change(node, issuer.did, { status: 'distrusted' })
      await change(node, issuer.did, { status: 'trusted' })
      expect((await node.context(header)).code).toBe('issuer_untrusted')
    })

    it('404: an unknown key, issuer or site; 422: an unknown status', async () => {
      const node = await begin()
      const issuer = await newParty()
      await add(node, { issuer: issuer.did })
      const other = await newParty()
      expect((await setKey(node, issuer.did, other.keyId, 'retired')).status).toBe(404)
      expect((await setKey(node, other.did, other.keyId, 'retired')).status).toBe(404)
      const foreign = await node.admin('change_issuer_key', {
        params: { site_id: A, issuer: issuer.did, key: issuer.keyId },
        body: { status: 'retired' },
        caller: keyOf(B),
      })
      expect(foreign.status).toBe(404)
      expect((await setKey(node, issuer.did, issuer.keyId, 'lost')).status).toBe(422)
      expect((await find(node, issuer.did))?.keys[0]?.status).toBe('active')
    })
  })

  describe('GET …/issuers', () => {
    it('lists page by page, also issuers whose DID is longer than a cursor', async () => {
      const node = await begin()
      const { keyId } = await newParty()
      const dids = Array.from({ length: 5 }, (_, i) => `${WEB}:${'p'.repeat(900)}${i}`)
      for (const issuer of dids) expect((await add(node, { issuer, keys: [keyId] })).status).toBe(201)
      const seen: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await node.admin('list_issuers', {
          params: { site_id: A },
          query: `limit=2${cursor && `&cursor=${cursor}`}`,
          caller: keyOf(A),
        })
        seen.push(...body.items.map((row: { issuer: string }) => row.issuer))
        cursor = body.next_cursor
      }
      expect(seen).toEqual([...dids, OWN].sort())
    })

    it('404 for another site', async () => {
      const node = await begin()
      for (const [site_id, caller] of [
        [A, keyOf(B)],
        [NOWHERE, keyOf(A)],
      ] as const) {
        expect((await node.admin('list_issuers', { params: { site_id }, caller })).status).toBe(404)
      }
    })
  })

  describe('the refresh of did:web issuers', () => {
    const fetchedIssuer = async () => {
      const node = await begin()
      const [one, two] = [await newParty(), await newParty()]
      node.documents.set(WEB, [{ id: 'key-1', key: one.key.publicKey }])
      await add(node, { issuer: WEB })
      return { node, one, two }
    }
    const refresh = async (node: AdminNode) => {
      await refreshIssuers(node.deps)
      await node.deps.views.waitFor(await node.deps.store.logPosition())
    }

    it('takes in a new key, and nothing of one that has gone', async () => {
      const { node, one, two } = await fetchedIssuer()
      node.documents.set(WEB, [{ id: 'key-2', key: two.key.publicKey }])
      await refresh(node)
      expect((await find(node, WEB))?.keys).toEqual([{ id: 'key-2', key: two.keyId, status: 'active' }])
      expect((await node.show(await webCredential(two, 'key-2'))).status).toBe(200)
      expect((await node.show(await webCredential(one, 'key-1'))).status).toBe(401)
    })

    it('takes back nothing that the site says at that very moment', async () => {
      const { node, one, two } = await fetchedIssuer()
      const { store } = node.deps
      const mallory = await newParty()
      /** Runs while the refresh has read the issuer and has yet to write. */
      const meanwhile = (say: () => Promise<unknown>) => {
        const between = Object.create(store) as typeof store
        between.issuer = async (siteId, issuer) => {
          const read = await store.issuer(siteId, issuer)
          if (siteId === node.home && issuer === WEB) await say()
          return read
        }
        return refresh({ ...node, deps: { ...node.deps, store: between } })
      }
      node.documents.set(WEB, [
        { id: 'key-1', key: one.key.publicKey },
        { id: 'key-2', key: two.key.publicKey },
      ])
      await meanwhile(() => setKey(node, WEB, 'key-1', 'retired'))
      expect((await find(node, WEB))?.keys).toMatchObject([
        { id: 'key-1', status: 'retired' },
        { id: 'key-2' },
      ])
      node.documents.set(WEB, [{ id: 'key-3', key: mallory.key.publicKey }])
      await meanwhile(() => change(node, WEB, { keys: [two.keyId] }))
      expect((await find(node, WEB))?.keys).toMatchObject([{ id: 'key-2', status: 'active' }])
      expect((await node.show(await webCredential(mallory, 'key-3'))).status).toBe(401)
    })

    it('lets nothing count when the document names no key any more', async () => {
      const { node, one } = await fetchedIssuer()
      node.documents.set(WEB, [])
      await refresh(node)
      expect((await node.show(await webCredential(one, 'key-1'))).status).toBe(401)
    })

    it('keeps the old keys when the document cannot be had, and says so in the log', async () => {
      const { node, one } = await fetchedIssuer()
      node.documents.set(WEB, 'the DID document could not be fetched')
      await refresh(node)
      expect((await node.show(await webCredential(one, 'key-1'))).status).toBe(200)
      expect(node.logged.join('')).toContain('its old keys stay')
    })

    it('is no news when nothing has changed', async () => {
      const { node } = await fetchedIssuer()
      const position = await node.deps.store.logPosition()
      await refresh(node)
      expect(await node.deps.store.logPosition()).toBe(position)
    })

    it('does not bring back what the site has retired, marked as compromised or distrusted', async () => {
      const { node, one, two } = await fetchedIssuer()
      node.documents.set(WEB, [
        { id: 'key-1', key: one.key.publicKey },
        { id: 'key-2', key: two.key.publicKey },
      ])
      await refresh(node)
      await setKey(node, WEB, 'key-1', 'compromised')
      await setKey(node, WEB, 'key-2', 'retired')
      await refresh(node)
      expect((await find(node, WEB))?.keys.map(({ status }) => status).sort()).toEqual([
        'compromised',
        'retired',
      ])
      await change(node, WEB, { status: 'distrusted' })
      node.documents.set(WEB, [{ id: 'key-3', key: two.key.publicKey }])
      await refresh(node)
      expect(node.deps.views.view(A)?.issuer(WEB)).toBeUndefined()
    })

    it('asks once for all sites, and tells each', async () => {
      const { node, two } = await fetchedIssuer()
      await node.admin('create_site', { body: { site_id: B } })
      await add(node, { issuer: WEB }, keyOf(B), B)
      node.fetched.length = 0
      node.documents.set(WEB, [{ id: 'key-2', key: two.key.publicKey }])
      await refresh(node)
      expect(fetches(node)).toEqual([WEB])
      for (const site of [A, B])
        expect([...(node.deps.views.view(site)?.issuer(WEB)?.keys.keys() ?? [])]).toEqual([`${WEB}#key-2`])
    })

    it('does not overwrite keys that were pinned while it was asking', async () => {
      const { node, one, two } = await fetchedIssuer()
      const { fetch } = node.deps.didWeb
      Object.assign(node.deps.didWeb, {
        fetch: async (did: string) => {
          await change(node, WEB, { keys: [one.keyId] })
          return fetch(did)
        },
      })
      node.documents.set(WEB, [{ id: 'key-2', key: two.key.publicKey }])
      await refresh(node)
      expect((await find(node, WEB))?.keys).toMatchObject([{ id: 'key-1', key: one.keyId }])
    })

    it('A066: nothing is fetched while verifying', async () => {
      const { node } = await fetchedIssuer()
      node.fetched.length = 0
      const untrusted = await newParty()
      await node.show(await webCredential(untrusted, 'key-9'))
      await node.show(
        await issueCredential(
          {
            credentialId: 'cred_0123456789',
            ppid: 'did:service:ppid_0123456789',
            siteId: A,
            scope: ['orders:read'],
            validFromMs: NOW,
            validUntilMs: NOW + 1000,
          },
          {
            issuer: 'did:web:localhost%3A9',
            verificationMethod: 'did:web:localhost%3A9#key-1',
            key: untrusted.key,
            createdMs: NOW,
          },
        ),
      )
      expect(node.fetched).toEqual([])
    })
  })
})
