import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createGuard, type Guard } from '@countersign/sdk'
import { testRequest } from '@countersign/sdk/testing'
import { afterEach, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { runStatements, startOwnPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { addIssuer, createClient } from '../process/client.ts'
import {
  cleanUp,
  createHome,
  runCommand,
  type ServiceHome,
  startService,
} from '../process/service-process.ts'

const TEST_MS_MAX = 300_000
const SOON = { interval: 50 }

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await cleanUp()
})

/** A home whose store can be copied while no service runs, and set back to that copy. */
interface CopiedHome {
  readonly home: ServiceHome
  copy(): Promise<void>
  /** Within the epoch. */
  setBack(): Promise<void>
  /** Begins a new epoch, from the copy or from what there is. */
  beginEpoch(): Promise<void>
  /** Puts the copy in place as an operator does, which begins another epoch. */
  restore?(): Promise<void>
}

async function onSqlite(): Promise<CopiedHome> {
  const home = await createHome()
  const copy = join(home.dataDir, '..', 'copy')
  const backup = join(home.dataDir, '..', 'backup')
  const run = async (...argv: string[]) => expect(await runCommand(home, argv)).toMatchObject({ code: 0 })
  return {
    home,
    async copy() {
      cpSync(home.dataDir, copy, { recursive: true })
      await run('backup', backup)
    },
    async setBack() {
      rmSync(home.dataDir, { recursive: true })
      cpSync(copy, home.dataDir, { recursive: true })
    },
    beginEpoch: () => run('accept-rollback', '--yes'),
    restore: () => run('restore', backup, '--yes'),
  }
}

async function onPostgres(): Promise<CopiedHome> {
  // Before it removes a database, PostgreSQL syncs all others: in the one that the tests share
  // there are hundreds.
  const server = await startOwnPostgres()
  ends.push(() => server.stop())
  const databaseUrl = await server.createTables()
  const name = new URL(databaseUrl).pathname.slice(1)
  const adminUrl = Object.assign(new URL(databaseUrl), { pathname: '/postgres' }).href
  const forEachTable = (statement: string) =>
    `DO $$ DECLARE t text; BEGIN
       FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP EXECUTE format('${statement}', t); END LOOP;
     END $$`
  return {
    home: await createHome({ databaseUrl }),
    async copy() {
      await runStatements(adminUrl, [`CREATE DATABASE ${name}_copy TEMPLATE ${name}`])
      await runStatements(databaseUrl, [
        'CREATE SCHEMA copy',
        forEachTable('CREATE TABLE copy.%1$I AS TABLE public.%1$I'),
      ])
    },
    setBack: () =>
      runStatements(databaseUrl, [
        'SET session_replication_role = replica',
        forEachTable('TRUNCATE public.%1$I CASCADE'),
        forEachTable('INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE SELECT * FROM copy.%1$I'),
      ]),
    // As a dump is restored: a service that finds its log in another database begins a new epoch by
    // itself.
    beginEpoch: () =>
      runStatements(adminUrl, [
        `DROP DATABASE ${name} WITH (FORCE)`,
        `CREATE DATABASE ${name} TEMPLATE ${name}_copy`,
      ]),
  }
}

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
])('a store on %s that is set back to an older copy within its epoch (A258, A274, B1)', (_, open) => {
  test('ends the readiness of the service when a guard shows its proof, and the guard denies; a new epoch ends it', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { home, copy, setBack, beginEpoch, restore } = await open()
    let node = await startService(home, { entry: 'dev' })
    const dev = JSON.parse(readFileSync(join(home.dataDir, 'dev.json'), 'utf8')) as DevFile
    const client = createClient(home.baseUrl, dev)
    const issuer = await addIssuer(client, dev)
    const revoked = await issuer.issue()
    const living = await issuer.issue()
    const others = await Promise.all([issuer.issue(), issuer.issue(), issuer.issue()])
    await node.stop()
    await copy()

    node = await startService(home)
    let tries = 0
    const guard = createGuard({
      baseUrl: home.baseUrl,
      siteId: dev.site_id,
      apiKey: dev.site_key,
      maxStalenessSeconds: 5,
      onStateChange: () => undefined,
      fetch: (url, init) => {
        if (/\/(?:feed|snapshot)$/.test(new URL(url).pathname)) tries++
        return fetch(url, init)
      },
    })
    ends.push(() => guard.close())
    await guard.ready()
    expect([await shown(guard, revoked), await shown(guard, living)]).toEqual(['allowed', 'allowed'])
    const receipt = await client.revokeUser(revoked.ppid, { Prefer: 'wait=20' })
    expect(receipt.body.propagation).toMatchObject({ acknowledged: 1 })
    expect(await shown(guard, revoked)).toBe('credential_revoked')
    const { epoch, seq } = guard.state()
    await node.stop()

    await setBack()
    node = await startService(home, { readyOrNot: true })
    // The alarm: only the guard knows what the store has lost.
    await expect.poll(() => client.ready(), SOON).toBe(false)
    await expect.poll(() => node.output(), SOON).toContain(`proves entry ${seq} of ${dev.site_id}`)
    expect(node.output()).toContain('countersign accept-rollback')
    await expect.poll(() => guard.state().ready, SOON).toBe(false)
    expect((await client.show(revoked.header)).body.code).toBe('revocation_view_stale')
    // Longer than what the guard has proof of, in the same epoch: still denied, by the guard and by
    // the service.
    for (const other of others) expect((await client.revokeUser(other.ppid)).status).toBe(200)
    const before = tries
    await expect.poll(() => tries, SOON).toBeGreaterThan(before + 1)
    expect([await shown(guard, revoked), await shown(guard, living)]).toEqual([
      'revocation_view_stale',
      'revocation_view_stale',
    ])
    expect(guard.state()).toMatchObject({ ready: false, epoch, seq })
    expect(await client.ready()).toBe(false)
    await node.stop()

    await beginEpoch()
    node = await startService(home)
    await expect.poll(() => guard.state().ready, SOON).toBe(true)
    expect(guard.state().epoch).not.toBe(epoch)
    expect(guard.state().carriedRevocations).toBe(1)
    expect([await shown(guard, revoked), await shown(guard, living)]).toEqual([
      'credential_revoked',
      'allowed',
    ])
    // Revoked again, it is carried no longer.
    await client.revokeUser(revoked.ppid)
    await expect.poll(() => guard.state().carriedRevocations, SOON).toBeUndefined()
    expect(await shown(guard, revoked)).toBe('credential_revoked')

    if (restore === undefined) return
    await node.stop()
    await restore()
    await startService(home)
    await expect
      .poll(() => guard.state(), SOON)
      .toMatchObject({ ready: true, carriedRevocations: 1 + others.length })
    expect([await shown(guard, revoked), await shown(guard, living)]).toEqual([
      'credential_revoked',
      'allowed',
    ])
  })
})

async function shown(guard: Guard, { header }: { readonly header: string }): Promise<string> {
  const request = testRequest('GET', 'http://demo.localhost/api/orders', { 'x-service-credential': header })
  const verdict = await guard.verify(request, { scope: 'orders:read' })
  return verdict.ok ? 'allowed' : verdict.code
}
