import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createGuard, type Guard } from '@countersign/sdk'
import { testRequest } from '@countersign/sdk/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { addIssuer, createClient } from '../process/client.ts'
import { cleanUp, createHome, furnish, pause, runCommand, startService } from '../process/service-process.ts'

const TEST_MS_MAX = 300_000
const SOON = { timeout: 60_000, interval: 50 }

const guards: Guard[] = []
afterEach(async () => {
  for (const guard of guards.splice(0)) await guard.close()
  await cleanUp()
}, 60_000)

describe('a store that is set back to an older copy within its epoch (A258, B1)', () => {
  it('never makes a guard accept what it has proof of as revoked; a new epoch ends it', { timeout: TEST_MS_MAX }, async () => {
    const home = await createHome()
    const dev = await furnish(home)
    const client = createClient(home.baseUrl, dev)
    let node = await startService(home)
    const issuer = await addIssuer(client, dev)
    const revoked = await issuer.issue()
    const living = await issuer.issue()
    const others = [await issuer.issue(), await issuer.issue(), await issuer.issue()]
    await node.stop()
    const copy = join(home.dataDir, '..', 'copy')
    cpSync(home.dataDir, copy, { recursive: true })

    node = await startService(home)
    const guard = createGuard({
      baseUrl: home.baseUrl,
      siteId: dev.site_id,
      apiKey: dev.site_key,
      maxStalenessSeconds: 5,
      onStateChange: () => undefined,
    })
    guards.push(guard)
    await guard.ready()
    const shown = async ({ header }: { readonly header: string }) => {
      const request = testRequest('GET', 'http://demo.localhost/api/orders', { 'x-service-credential': header })
      const verdict = await guard.verify(request, { scope: 'orders:read' })
      return verdict.ok ? 'allowed' : verdict.code
    }
    expect([await shown(revoked), await shown(living)]).toEqual(['allowed', 'allowed'])
    const receipt = await client.revokeUser(revoked.ppid, { Prefer: 'wait=20' })
    expect(receipt.body.propagation).toMatchObject({ acknowledged: 1 })
    expect(await shown(revoked)).toBe('credential_revoked')
    const { epoch, seq } = guard.state()
    await node.stop()

    rmSync(home.dataDir, { recursive: true })
    cpSync(copy, home.dataDir, { recursive: true })
    node = await startService(home, { readyOrNot: true })
    await expect.poll(() => guard.state().ready, SOON).toBe(false)
    // Longer than what the guard has proof of, in the same epoch.
    for (const other of others) expect((await client.revokeUser(other.ppid)).status).toBe(200)
    const seen = new Set<string>()
    for (let i = 0; i < 100; i++) {
      seen.add(await shown(revoked)).add(await shown(living))
      await pause(100)
    }
    expect(seen).toEqual(new Set(['revocation_view_stale']))
    expect(guard.state()).toMatchObject({ ready: false, epoch, seq })
    await node.stop()

    expect((await runCommand(home, ['new-epoch'])).code).toBe(0)
    await startService(home)
    await expect.poll(() => guard.state().ready, SOON).toBe(true)
    expect(guard.state().epoch).not.toBe(epoch)
    expect(guard.state().carriedRevocations).toBe(1)
    expect([await shown(revoked), await shown(living)]).toEqual(['credential_revoked', 'allowed'])
  })
})
