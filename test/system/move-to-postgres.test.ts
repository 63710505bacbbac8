import { join } from 'node:path'
import { createGuard, type Guard } from '@countersign/sdk'
import { testRequest } from '@countersign/sdk/testing'
import { afterEach, expect, test } from 'vitest'
import { startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { addIssuer, createClient } from '../process/client.ts'
import { cleanUp, createHome, runCommand, startFurnished, startService } from '../process/service-process.ts'

const TEST_MS_MAX = 300_000
const SOON = { interval: 50, timeout: 60_000 }

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await cleanUp()
})

async function show(guard: Guard, { header }: { readonly header: string }): Promise<string> {
  const request = testRequest('GET', 'http://demo.localhost/api/orders', { 'x-service-credential': header })
  const verdict = await guard.verify(request, { scope: 'orders:read' })
  return verdict.ok ? 'allowed' : verdict.code
}

test('a service moves from SQLite to PostgreSQL: guards, revocations and tokens go on', {
  tags: 'long',
  timeout: TEST_MS_MAX,
}, async () => {
  const embedded = await createHome()
  const first = await startFurnished(embedded)
  const { dev } = first
  const client = createClient(embedded.baseUrl, dev)
  const issuer = await addIssuer(client, dev)
  const [living, before, after] = [await issuer.issue(), await issuer.issue(), await issuer.issue()]
  const token = (await client.exchange(living.document)).body.access_token as string
  const guard = createGuard({
    baseUrl: embedded.baseUrl,
    siteId: dev.site_id,
    apiKey: dev.site_key,
    maxStalenessSeconds: 60,
    onStateChange: () => undefined,
  })
  ends.push(() => guard.close())
  await guard.ready()
  const { seq } = (await client.revokeUser(before.ppid)).body
  await expect.poll(() => guard.state().seq, SOON).toBe(seq)
  const { epoch } = guard.state()
  await first.stop()

  const backup = join(embedded.dataDir, 'backup.db')
  expect(await runCommand(embedded, ['backup', backup])).toMatchObject({ code: 0 })
  const server = await startPostgres()
  ends.push(() => server.stop())
  const moved = { ...embedded, databaseUrl: await server.createDatabase() }
  const restored = await runCommand(moved, ['restore', backup, '--json'])
  expect(restored).toMatchObject({ code: 0 })
  const next = JSON.parse(restored.said) as { readonly epoch: string }
  expect(next.epoch).not.toBe(epoch)
  const node = await startService(moved)

  await expect.poll(() => guard.state(), SOON).toMatchObject({ epoch: next.epoch, seq, ready: true })
  expect(guard.state()).not.toHaveProperty('fork')
  expect(guard.state()).not.toHaveProperty('carriedRevocations')
  expect(await show(guard, living)).toBe('allowed')
  expect(await show(guard, before)).toBe('credential_revoked')
  expect((await client.bearer(token)).status).toBe(200)
  expect((await client.show(before.header)).body).toMatchObject({ code: 'credential_revoked' })
  expect((await client.revokeUser(after.ppid)).body).toMatchObject({ epoch: next.epoch, seq: seq + 1 })
  await expect.poll(() => show(guard, after), SOON).toBe('credential_revoked')
  await node.stop()

  // Started again by mistake, the old store does not set the guard back.
  const old = await startService(embedded)
  await expect.poll(() => guard.state().connection, SOON).not.toBe('following')
  for (let n = 0; n < 20; n++) {
    expect(await show(guard, after)).not.toBe('allowed')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(guard.state().epoch).toBe(next.epoch)
  await old.stop()
})
