import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newName } from '../browser/new-name.ts'
import { type Harness, hasChromium, openHarness } from './harness.ts'

describe.skipIf(!hasChromium)('the harness of the console tests', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  test('signs a person in, whose page shows guards of other processes as they come and go', {
    tags: 'long',
  }, async () => {
    const { page, open } = await harness.openConsole({ page: 'verifiers' })
    await page.getByText('No verifier follows this site yet').waitFor()
    const guards = await harness.openGuards(['orders', 'payments'])
    await open('verifiers')
    await expect.poll(() => page.getByRole('row').count()).toBe(3)
    await guards.close()
    await open('verifiers')
    await page.getByText('No verifier follows this site yet').waitFor()
  })

  test('has guards that decide, and that can be cut off', { tags: 'long' }, async () => {
    const { credential, ppid } = await harness.credential(newName('ada'))
    const guards = await harness.openGuards(['ledger'], { maxStalenessSeconds: 2 })
    expect(await guards.decide(credential)).toEqual({ ledger: 'allowed' })
    guards.cutOff()
    await expect.poll(() => guards.decide(credential)).toEqual({ ledger: 'revocation_view_stale' })
    await harness.client.revokeUser({ ppid, site_id: harness.siteId })
    guards.reconnect()
    await expect.poll(() => guards.decide(credential)).toEqual({ ledger: 'credential_revoked' })
    await guards.kill()
  })

  test('writes down what a page should not do', async () => {
    const { page, complaints } = await harness.openConsole({ role: 'viewer' })
    await page.evaluate(`fetch('http://127.0.0.1:9/').catch(() => {})`)
    await expect.poll(() => complaints.join('\n')).toMatch(/policy violated: connect-src/)
    complaints.length = 0
    await page.evaluate(`console.error('wrong')`)
    await expect.poll(() => complaints).toEqual(['console: wrong'])
    complaints.length = 0
  })
})
