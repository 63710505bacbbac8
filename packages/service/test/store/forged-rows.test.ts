import { createHash, randomBytes } from 'node:crypto'
import {
  createEntry,
  type Entry,
  type EntryBodies,
  type EntryKind,
  GENESIS_HASH,
  type LogHead,
  type SiteId,
} from '@countersign/core'
import { expect, it } from 'vitest'
import { createApiKey } from '../../src/actions/api-keys.ts'
import { createSecretText } from '../../src/keys/secret-text.ts'
import { createRowMacs } from '../../src/sealing/row-macs.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import type { Service } from '../../src/service.ts'
import { RowForged } from '../../src/store/errors.ts'
import { EMPTY_DIGEST, nextDigest } from '../../src/store/log-digest.ts'
import { type MacTable, type MacTableName, macTables } from '../../src/store/mac-tables.ts'
import type { MacValue, SqlValue } from '../../src/store/transaction.ts'
import { inject } from '../inject.ts'
import {
  context,
  credentialId,
  MASTER_KEY,
  NOW,
  newIssuer,
  newKey,
  newSite,
  newToken,
  ppid,
  seen,
  sha256,
} from './fixtures.ts'
import { audit, forEachStoreWriter, openNode, type StoreWriter, withNode } from './store-writer.ts'

const SEALED = createSealer(MASTER_KEY).seal('test', 'x')

/** The control arm: with the MAC key, which needs the master key, the same attack succeeds. */
async function writeMacs({ sql }: StoreWriter, tables: readonly MacTableName[]): Promise<void> {
  const [secret] = await sql(`SELECT sealed FROM secrets WHERE name = 'mac-key'`)
  const macs = createRowMacs(createSealer(MASTER_KEY).open('mac-key', String(secret?.sealed)))
  const [log] = await sql('SELECT epoch, keys_deleted FROM log')
  for (const table of tables) {
    const { columns, key }: MacTable = macTables[table]
    for (const row of await sql(`SELECT * FROM ${table}`)) {
      const values = columns.map((column) => (row[column] ?? log?.[column] ?? null) as MacValue)
      const isThis = key.map((column, i) => `${column} = $${i + 2}`).join(' AND ')
      await sql(
        `UPDATE ${table} SET mac = $1 WHERE ${isThis}`,
        macs.create(table, values),
        ...key.map((column) => row[column] as SqlValue),
      )
    }
  }
}

/**
 * S4: the log again under another epoch, without the revocations and with an issuer of the
 * attacker's, with hashes that are right.
 */
async function rewriteLog(
  { sql }: StoreWriter,
  siteId: SiteId,
  issuer: EntryBodies['issuer.trusted'],
): Promise<void> {
  const epoch = 'forged0000000000'
  const heads = new Map<string, LogHead>()
  const kept = (await sql('SELECT * FROM entries ORDER BY position')).filter(
    ({ kind }) => !String(kind).endsWith('.revoked'),
  )
  const drafts = kept.map(({ site_id, kind, body, at }) => ({
    siteId: site_id as SiteId,
    kind,
    body: JSON.parse(String(body)),
    at,
  }))
  drafts.push({ siteId, kind: 'issuer.trusted', body: issuer, at: drafts.at(-1)?.at ?? null })
  let [position, digest] = [0, EMPTY_DIGEST]
  for (const { siteId: site, kind, body, at } of drafts) {
    const before = heads.get(site) ?? { epoch, seq: 0, hash: GENESIS_HASH }
    const entry = (await createEntry(
      { siteId: site, kind: kind as EntryKind, body, at: at as never },
      before,
    )) as Entry
    heads.set(site, entry)
    digest = nextDigest(digest, entry.hash)
    await sql(
      'INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)',
      epoch,
      ++position,
      site,
      entry.seq,
      entry.kind,
      JSON.stringify(body),
      entry.at,
      before.hash,
      entry.hash,
    )
  }
  for (const [site, { seq, hash }] of heads)
    await sql('UPDATE heads SET seq = $2, hash = $3 WHERE site_id = $1', site, seq, hash)
  await sql('UPDATE log SET epoch = $1, position = $2, digest = $3', epoch, position, digest)
  await sql('DELETE FROM users')
  await sql('DELETE FROM credential_revocations')
}

forEachStoreWriter('a store writer', (newWriter) => {
  /** A site with a revoked user and a revoked credential. */
  async function revokedSite(writer: StoreWriter) {
    const { siteId } = newSite()
    const user = ppid()
    const credential = credentialId()
    await withNode(writer, async (store) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      await store.addIssuer(await newIssuer(siteId), context())
      await store.revokeUser({ siteId, ppid: user, reason: undefined }, context())
      await store.revokeCredential({ siteId, credentialId: credential, reason: undefined }, context())
    })
    const key = await newKey()
    const issuer = {
      issuer: 'did:web:evil.example',
      keys: [key],
      scope: null,
      credential_ttl_seconds_max: null,
    }
    return { siteId, user, credential, issuer }
  }

  it('who rewrites the log with right hashes makes the node not ready, and audit-log names the row (A271, S4)', async () => {
    const writer = await newWriter()
    const { siteId, user, issuer } = await revokedSite(writer)
    expect(await audit(writer)).toMatchObject({ code: 0 })
    await rewriteLog(writer, siteId, issuer)
    await withNode(writer, async (store, { app, deps }, logged) => {
      expect((await inject(app, { url: '/readyz' })).statusCode).toBe(503)
      expect(deps.views.readiness()).toMatchObject({
        ready: false,
        why: expect.stringContaining('MAC is wrong'),
      })
      expect(logged.join('')).toMatch(/"table":"heads".*missing or wrong MAC/)
      // Nothing is appended to it either: that would give it a MAC.
      await expect(
        store.revokeUser({ siteId, ppid: user, reason: undefined }, context()),
      ).rejects.toBeInstanceOf(RowForged)
    })
    const { code, said } = await audit(writer)
    expect(code).toBe(3)
    expect(said).toMatch(new RegExp(`bad row: ${siteId} of heads\n {2}fault: forged`))
  })

  it('control: with the MAC key the rewritten log is taken for the log (A271)', async () => {
    const writer = await newWriter()
    const { siteId, user, issuer } = await revokedSite(writer)
    await rewriteLog(writer, siteId, issuer)
    await writeMacs(writer, ['heads', 'log'])
    await withNode(writer, async (_store, { app, deps }) => {
      expect((await inject(app, { url: '/readyz' })).statusCode).toBe(200)
      expect(deps.views.view(siteId)?.userRevocation(user, NOW)).toBeUndefined()
      expect(deps.views.view(siteId)?.issuer('did:web:evil.example')).toBeDefined()
    })
  })

  it('who replaces entries and leaves the log row and the heads alone is found too (A271)', async () => {
    const writer = await newWriter()
    const { siteId } = await revokedSite(writer)
    const [head] = await writer.sql('SELECT * FROM heads')
    const [log] = await writer.sql('SELECT * FROM log')
    await writer.sql('DELETE FROM entries WHERE seq = $1 AND site_id = $2', head?.seq as number, siteId)
    expect(await audit(writer)).toMatchObject({ code: 3, said: expect.stringContaining('missing') })
    // Another entry in its place, whose hash is right.
    const [before] = await writer.sql('SELECT * FROM entries ORDER BY position DESC LIMIT 1')
    const body = { ppid: ppid(), revoked_at: '2026-01-01T00:00:00Z' }
    const entry = (await createEntry({ siteId, kind: 'user.revoked', body, at: body.revoked_at } as never, {
      epoch: String(log?.epoch),
      seq: Number(before?.seq),
      hash: String(before?.hash),
    })) as Entry
    await writer.sql(
      'INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)',
      entry.epoch,
      log?.position as number,
      siteId,
      entry.seq,
      entry.kind,
      JSON.stringify(body),
      entry.at,
      entry.prev_hash,
      entry.hash,
    )
    expect((await audit(writer)).code).toBe(3)
    await withNode(writer, async (_, { deps }) =>
      expect(deps.views.readiness()).toMatchObject({ ready: false }),
    )
  })

  it('who appends an entry while the node runs ends its readiness before anything rests on it (A271)', async () => {
    const writer = await newWriter()
    const { siteId, issuer } = await revokedSite(writer)
    await withNode(writer, async (store, { deps }) => {
      expect(deps.views.readiness()).toEqual({ ready: true })
      const [head] = await writer.sql('SELECT * FROM heads')
      const at = '2026-01-01T00:00:00Z' as never
      const before = { epoch: store.epoch, seq: Number(head?.seq), hash: String(head?.hash) }
      const entry = (await createEntry({ siteId, kind: 'issuer.trusted', body: issuer, at }, before)) as Entry
      const position = (await store.logPosition()) + 1
      await writer.sql(
        'INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)',
        entry.epoch,
        position,
        siteId,
        entry.seq,
        entry.kind,
        JSON.stringify(issuer),
        entry.at,
        entry.prev_hash,
        entry.hash,
      )
      await writer.sql('UPDATE log SET position = $1', position)
      await writer.sql(
        'UPDATE heads SET seq = $2, hash = $3 WHERE site_id = $1',
        siteId,
        entry.seq,
        entry.hash,
      )
      await expect.poll(() => deps.views.readiness().ready).toBe(false)
      expect(deps.views.view(siteId)?.issuer('did:web:evil.example')).toBeUndefined()
    })
  })

  it('who inserts an API key is refused with 401 (A272, S4)', async () => {
    const writer = await newWriter()
    await withNode(writer, () => Promise.resolve())
    const secret = createSecretText('svc_sk_', randomBytes(32))
    await writer.sql(
      `INSERT INTO api_keys (key_id, site_id, sha256, last4, permissions, created_at) VALUES ('key_evil', NULL, $1, 'evil', '[]', 0)`,
      createHash('sha256').update(secret).digest('hex'),
    )
    const ask = (service: Service) =>
      inject(service.app, { url: '/api/sites', headers: { 'x-api-key': secret } })
    await withNode(writer, async (store, service, logged) => {
      const answer = await ask(service)
      expect(answer.statusCode).toBe(401)
      expect(answer.json()).toMatchObject({ code: 'api_key_invalid' })
      const genuine = await createApiKey(
        { store },
        { siteId: null, permissions: [], label: 'z', expiresInSeconds: undefined },
        context(Date.now()),
      )
      expect((await store.apiKeys(null, { after: undefined, limit: 1 })).map(({ keyId }) => keyId)).toEqual([
        genuine.key.keyId,
      ])
      expect(await store.apiKeysById(['key_evil'])).toEqual([])
      expect(logged.join('')).toMatch(/"table":"api_keys","key":"key_evil"/)
      expect(await service.deps.meters.text()).toMatch(
        /countersign_store_rows_forged_total\{table="api_keys"\} [1-9]/,
      )
    })
    expect(await audit(writer)).toMatchObject({
      code: 3,
      said: expect.stringContaining('key_evil of api_keys'),
    })
    // Control.
    await writeMacs(writer, ['api_keys'])
    await withNode(writer, async (_, service) => expect((await ask(service)).statusCode).toBe(200))
  })

  it('who changes a token, an offer or a sign-in makes it unknown (A272)', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const credential = seen(siteId)
    const token = newToken(credential)
    const offer = {
      sha256: sha256(),
      siteId,
      ppid: ppid(),
      scope: credential.scope,
      permissionId: undefined,
      ttlSeconds: 60,
      expiresAtMs: NOW + 1000,
    }
    const signIn = {
      stateSha256: sha256(),
      siteId,
      returnUrl: 'https://a.example/back',
      requestedScope: undefined,
      clientStateSealed: undefined,
      codeChallenge: 'c',
      expiresAtMs: NOW + 1000,
    }
    const browser = { heldSha256: undefined, newSha256: sha256() }
    const { issuer, issuerKey, ppid: user, scope, permissionId, chain } = token
    const presentation = {
      payloadSha256: sha256(),
      stateSha256: signIn.stateSha256,
      siteId,
      ppid: user,
      scope,
      permissionId,
      chain,
      issuer,
      issuerKey,
      verifiedAtMs: NOW,
      credentialEndsAtMs: NOW + 1000,
      expiresAtMs: NOW + 1000,
    }
    const code = { codeSha256: sha256(), codeChallenge: 'c', expiresAtMs: NOW + 2000 }
    await withNode(writer, async (store) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      await store.createToken(token, 20, NOW, credential)
      await store.createOffer(offer, context())
      await store.createSignIn(signIn)
      expect(await store.openSignIn(signIn.stateSha256, browser, NOW)).toMatchObject({ siteId })
      expect(await store.presentSignIn(presentation, credential, NOW)).toBe('presented')
      expect(await store.createSignInCode({ ...presentation, isCancelled: false }, code)).toBe('created')
      expect(await store.token(token.sha256)).toMatchObject({ jti: token.jti })
      expect(await store.tokens(siteId, {}, { after: undefined, limit: 9 })).toHaveLength(1)
      expect(await store.offer(offer.sha256)).toMatchObject({ siteId })
      expect(await store.trySignIn(signIn.stateSha256, browser.newSha256, 9, NOW)).toMatchObject({ siteId })
    })
    expect(await audit(writer)).toMatchObject({ code: 0 })
    const evil = JSON.stringify(['admin:all'])
    for (const table of ['tokens', 'offers', 'sign_in_presentations'])
      await writer.sql(`UPDATE ${table} SET scope = $1`, evil)
    await writer.sql(`UPDATE sign_ins SET return_url = 'https://evil.example/'`)
    expect((await audit(writer)).code).toBe(3)
    await withNode(writer, async (store) => {
      expect(await store.token(token.sha256)).toBeUndefined()
      expect(await store.tokens(siteId, {}, { after: undefined, limit: 9 })).toEqual([])
      expect(await store.offer(offer.sha256)).toBeUndefined()
      const claim = { holderKey: 'did:key:zX', credential: {} }
      expect(
        await store.claimOffer(offer.sha256, claim, seen(siteId, { ppid: offer.ppid }), context()),
      ).toBeUndefined()
      expect(await store.trySignIn(signIn.stateSha256, browser.newSha256, 9, NOW)).toBeUndefined()
      expect(await store.redeemSignIn(code.codeSha256, code.codeChallenge, NOW)).toBeUndefined()
      const end = {
        stateSha256: signIn.stateSha256,
        browserSha256: browser.newSha256,
        payloadSha256: undefined,
        as: 'consumed',
      } as const
      expect(await store.endSignIn(end, NOW)).toBeUndefined()
    })
    // Control: only the MAC stands in the way.
    await writeMacs(writer, ['tokens', 'offers', 'sign_in_presentations'])
    await withNode(writer, async (store) => {
      expect(await store.token(token.sha256)).toMatchObject({ scope: ['admin:all'] })
      expect(await store.offer(offer.sha256)).toMatchObject({ scope: ['admin:all'] })
      expect(await store.redeemSignIn(code.codeSha256, code.codeChallenge, NOW)).toMatchObject({
        scope: ['admin:all'],
      })
    })
  })

  it('who changes a site, an issuer or a link between epochs makes the node not ready, and the row unusable (A272)', async () => {
    for (const [table, change] of [
      ['sites', `UPDATE sites SET return_urls = '["https://evil.example/"]'`],
      ['issuers', `UPDATE issuers SET keys = '[]'`],
    ] as const) {
      const writer = await newWriter()
      const { siteId } = await revokedSite(writer)
      await writer.sql(change)
      expect(await audit(writer)).toMatchObject({
        code: 3,
        said: expect.stringMatching(new RegExp(`${siteId}.* of ${table}\n`)),
      })
      await withNode(writer, async (store, { deps }) => {
        expect(deps.views.readiness()).toMatchObject({
          ready: false,
          why: expect.stringContaining(`of ${table}`),
        })
        if (table === 'sites') await expect(store.site(siteId)).rejects.toBeInstanceOf(RowForged)
        else
          await expect(store.issuers(siteId, { after: undefined, limit: 9 })).rejects.toBeInstanceOf(
            RowForged,
          )
        if (table === 'sites')
          await expect(store.changeSite(siteId, { bearer: 'off' }, context())).rejects.toBeInstanceOf(
            RowForged,
          )
      })
    }
  })

  it('who removes the row of a distrusted issuer does not make it trusted again (A273)', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const own = await withNode(writer, async (store, { deps }) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      return deps.keys.issuerDid
    })
    // The next start makes the service itself an issuer there, and the site distrusts it.
    await withNode(writer, (store) => store.changeIssuer(siteId, own, { status: 'distrusted' }, context()))
    await writer.sql('DELETE FROM issuers')
    expect(await audit(writer)).toMatchObject({
      code: 3,
      said: expect.stringMatching(/of issuers\n {2}fault: row_missing/),
    })
    await withNode(writer, async (store, { deps }, logged) => {
      expect(deps.views.view(siteId)?.issuer(own)).toBeUndefined()
      expect(logged.join('')).toMatch(/"table":"issuers"/)
      await expect(
        store.addIssuer(await newIssuer(siteId, { issuer: own }), context()),
      ).rejects.toBeInstanceOf(RowForged)
    })
  })

  it('who removes the MAC key makes the store unreadable, and does not get rows without MACs accepted (A272)', async () => {
    const writer = await newWriter()
    await revokedSite(writer)
    await writer.sql(`DELETE FROM secrets WHERE name = 'mac-key'`)
    await expect(openNode(writer)).rejects.toThrow(/no MAC key/)
    expect(await audit(writer)).toMatchObject({ code: 1, said: expect.stringContaining('no MAC key') })
  })

  it('who removes the log row does not get an empty log that revokes nothing (A271)', async () => {
    const writer = await newWriter()
    await revokedSite(writer)
    await writer.sql('DELETE FROM log')
    await expect(openNode(writer)).rejects.toMatchObject({
      name: 'LogCorrupted',
      audit: { fault: 'missing', row: { table: 'log' } },
    })
    expect(await audit(writer)).toMatchObject({
      code: 3,
      said: expect.stringMatching(/bad row: 1 of log\n {2}fault: missing/),
    })
    expect(await writer.sql('SELECT * FROM log')).toEqual([])
  })

  it('who gives a kept answer to another request does not get it answered with that (S10)', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    await withNode(writer, async (store, { app }) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      const order = {
        siteId,
        permissions: ['credentials:revoke'],
        label: undefined,
        expiresInSeconds: undefined,
      } as const
      const { secret } = await createApiKey({ store }, order, context(Date.now()))
      const [first, second] = [ppid(), ppid()].map((user) =>
        JSON.stringify({ ppid: user, site_id: siteId }),
      ) as [string, string]
      const revoke = (payload: string) =>
        inject(app, {
          method: 'POST',
          url: '/api/wallet/revoke-user',
          headers: { 'x-api-key': secret, 'idempotency-key': 'once', 'content-type': 'application/json' },
          payload,
        })
      const done = await revoke(first)
      expect([done.statusCode, (await revoke(first)).json()]).toEqual([200, done.json()])
      expect((await revoke(second)).json()).toMatchObject({ code: 'idempotency_conflict' })
      await writer.sql('UPDATE idempotency_keys SET request_sha256 = $1', sha256(`\n${second}`))
      // Done for itself: what was kept cannot be opened for it.
      const own = await revoke(second)
      expect(own.statusCode).toBe(200)
      expect(own.json()).toMatchObject({ already_revoked: false })
      expect(own.json().seq).toBeGreaterThan(done.json().seq)
    })
  })
})
