import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Config } from '../../src/config.ts'
import { auditStore } from '../../src/store/maintenance.ts'
import { openStore } from '../../src/store/open.ts'
import { act, credentialId, MASTER_KEY, NOW, newIssuer, newSite, newToken, ppid, quietLog, seen } from './fixtures.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const directory = mkdtempSync(join(tmpdir(), 'countersign-derived-'))
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => {
  await server?.stop()
  rmSync(directory, { recursive: true })
})

async function write(place: Config['store'], statement: string): Promise<void> {
  if (place.kind === 'sqlite') {
    const db = new Database(place.file)
    db.exec(statement)
    db.close()
  } else {
    const sql = postgres(place.url, { max: 1, onnotice: () => {} })
    await sql.unsafe(statement)
    await sql.end()
  }
}

const places: readonly [string, () => Promise<Config['store']>][] = [
  ['SQLite', async () => ({ kind: 'sqlite', file: join(directory, 'store.db') })],
  ['PostgreSQL', async () => ({ kind: 'postgres', url: await server.createDatabase() })],
]

describe.each(places)('tables made from the log on %s (A273, B14)', (_name, newPlace) => {
  it('are compared with it by the audit, row by row', async () => {
    const place = await newPlace()
    const store = await openStore(place, { masterKey: MASTER_KEY, log: quietLog, onFatal: () => {} })
    const site = newSite()
    const { siteId } = site
    await store.createSite(site, act())
    const issuer = await newIssuer(siteId)
    await store.addIssuer(issuer, act())
    const credential = seen(siteId)
    const token = newToken(credential)
    await store.createToken(token, 20, NOW, credential)
    const [revoked, reinstated, id] = [ppid(), ppid(), credentialId()]
    const user = (name: typeof revoked) => ({ siteId, ppid: name, reason: undefined })
    await store.revokeUser(user(revoked), act())
    await store.revokeUser(user(reinstated), act())
    await store.reinstateUser(user(reinstated), act())
    await store.revokeCredential({ siteId, credentialId: id, reason: undefined }, act())
    await store.revokeToken({ siteId, sha256: token.sha256, reason: undefined }, act())
    await store.changeIssuerKey(siteId, issuer.issuer, 'key-1', 'compromised', act())
    await store.close()
    const audit = () => auditStore(place, MASTER_KEY)
    expect(await audit()).toMatchObject({ ok: true })

    const spoils: readonly (readonly [spoil: string, mend: string, found: object])[] = [
      [
        `UPDATE users SET revoked = 0 WHERE ppid = '${revoked}'`,
        `UPDATE users SET revoked = 1 WHERE ppid = '${revoked}'`,
        { fault: 'row_differs', row: { table: 'users', key: `${siteId} ${revoked}` } },
      ],
      [
        `UPDATE users SET cutoff = 5 WHERE ppid = '${reinstated}'`,
        `UPDATE users SET cutoff = ${Math.ceil(NOW / 1000) * 1000} WHERE ppid = '${reinstated}'`,
        { fault: 'row_differs', row: { table: 'users', key: `${siteId} ${reinstated}` } },
      ],
      [
        `UPDATE tokens SET revoked_at = NULL`,
        `UPDATE tokens SET revoked_at = ${NOW}`,
        { fault: 'row_differs', row: { table: 'tokens', key: token.sha256 } },
      ],
      [
        `UPDATE credential_revocations SET position = 1`,
        `UPDATE credential_revocations SET position = 6`,
        { fault: 'row_differs', row: { table: 'credential_revocations', key: `${siteId} ${id}` } },
      ],
      [
        `UPDATE compromised_keys SET key_id = 'key-9'`,
        `UPDATE compromised_keys SET key_id = 'key-1'`,
        { fault: 'row_missing', row: { table: 'compromised_keys', key: `${siteId} ${issuer.issuer} key-1` } },
      ],
    ]
    for (const [spoil, mend, found] of spoils) {
      await write(place, spoil)
      expect(await audit()).toMatchObject({ ok: false, ...found })
      await write(place, mend)
      expect(await audit()).toMatchObject({ ok: true })
    }
    await write(place, `DELETE FROM users WHERE ppid = '${revoked}'`)
    expect(await audit()).toMatchObject({ ok: false, fault: 'row_missing', row: { table: 'users', key: `${siteId} ${revoked}` } })
  })
})
