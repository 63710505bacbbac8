import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { type PostgresServer, startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { type Client, createClient } from '../process/client.ts'
import {
  cleanUp,
  createHome,
  runCommand,
  type ServiceHome,
  startFurnished,
  startService,
} from '../process/service-process.ts'

const TEST_MS_MAX = 300_000

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, TEST_MS_MAX)
afterEach(cleanUp)
afterAll(() => server?.stop())

/**
 * Issues a credential here: needs a key of the service to sign with, and the pairwise secret of the
 * site for the ppid.
 */
const issue = (client: Client, dev: DevFile, headers: Readonly<Record<string, string>> = {}) =>
  client.ask('POST', '/api/wallet/credentials', {
    key: dev.site_key,
    headers,
    body: { site_id: dev.site_id, user_ref: 'user-7', scope: ['orders:read'] },
  })

const rotate = (home: ServiceHome, masterKey: string) =>
  runCommand(home, ['rotate-master-key'], { COUNTERSIGN_MASTER_KEY_NEW: masterKey })

describe('after the master key was changed', () => {
  test('the service starts with the new key and knows all it knew, and not with the old one (SQLite)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const home = await createHome()
    const before = await startFurnished(home)
    const { dev } = before
    const client = createClient(before.url, dev)
    const issued = await issue(client, dev, { 'Idempotency-Key': 'the-same' })
    expect(issued.status).toBe(201)
    const did = await client.ask('GET', '/.well-known/did.json')
    const masterKey = randomBytes(32).toString('hex')
    expect(await rotate(home, masterKey)).toMatchObject({
      code: 1,
      noted: expect.stringContaining('stop it first'),
    })
    await before.stop()
    expect(await rotate(home, masterKey)).toMatchObject({
      code: 0,
      said: expect.stringMatching(/^Sealed again/),
    })

    await expect(startService(home)).rejects.toThrow(
      /sealed under another master key.*COUNTERSIGN_MASTER_KEY_FILE/,
    )
    await startService({ ...home, masterKey })
    expect((await issue(client, dev, { 'Idempotency-Key': 'the-same' })).body).toEqual(issued.body)
    expect((await issue(client, dev)).body.ppid).toBe(issued.body.ppid)
    expect((await client.ask('GET', '/.well-known/did.json')).body).toEqual(did.body)
  })

  test('a node on PostgreSQL with the old key verifies and revokes until it is restarted, and seals nothing', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const home = await createHome({ databaseUrl: await server.createTables() })
    const old = await startFurnished(home)
    const { dev } = old
    const client = createClient(old.url, dev)
    const issued = await issue(client, dev, { 'Idempotency-Key': 'the-same' })
    expect(issued.status).toBe(201)
    const masterKey = randomBytes(32).toString('hex')
    expect(await rotate(home, masterKey)).toMatchObject({
      code: 0,
      noted: expect.stringContaining('restart every node'),
    })

    const header = Buffer.from(JSON.stringify(issued.body.credential)).toString('base64url')
    expect((await client.show(header)).status).toBe(200)
    const refused = [
      await issue(client, dev),
      await issue(client, dev, { 'Idempotency-Key': 'the-same' }),
      await client.ask('POST', '/api/sites', { key: dev.operator_key, body: { site_id: 'new.example' } }),
    ]
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      Array(3).fill([503, 'store_unavailable']),
    )
    expect(await client.ready()).toBe(true)
    // As the command line and the client of the SDK ask: by user_ref, and with an Idempotency-Key.
    const revoke = (headers: Readonly<Record<string, string>>) =>
      client.ask('POST', '/api/wallet/revoke-user', {
        key: dev.site_key,
        headers,
        body: { site_id: dev.site_id, user_ref: 'user-7' },
      })
    const revoked = [
      await revoke({ 'Idempotency-Key': 'revoke-1' }),
      await revoke({ 'Idempotency-Key': 'revoke-1' }),
      await revoke({}),
    ]
    expect(revoked.map(({ status, body }) => [status, body.already_revoked])).toEqual([
      [200, false],
      [200, true],
      [200, true],
    ])
    expect((await client.revokeUser(issued.body.ppid)).status).toBe(200)
    expect((await client.show(header)).body.code).toBe('credential_revoked')
    await expect
      .poll(() => old.output())
      .toContain('the master key of the store was changed; restart this node with the new one')
    await old.stop()

    await expect(startService(home)).rejects.toThrow(/sealed under another master key/)
    await startService({ ...home, masterKey })
    expect((await issue(client, dev, { 'Idempotency-Key': 'the-same' })).body).toEqual(issued.body)
    expect((await client.show(header)).body.code).toBe('credential_revoked')
    expect(
      (await client.ask('POST', '/api/sites', { key: dev.operator_key, body: { site_id: 'new.example' } }))
        .status,
    ).toBe(201)
  })
})
