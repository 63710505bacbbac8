import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Guard } from '../src/guard.ts'
import { createTestSite, type TestSite } from '../src/testing/test-site.ts'
import { testRequest } from '../src/testing/test-request.ts'

const URL = 'https://shop.example/api/orders?page=2'

let site: TestSite
let guard: Guard
beforeEach(async () => {
  site = await createTestSite()
  guard = await site.guard()
})
afterEach(() => site.close())

describe('a good credential', () => {
  test('is allowed', async () => {
    const credential = await site.issue()
    const verdict = await guard.verify(testRequest('GET', URL, await credential.headersFor('GET', URL)), { scope: 'orders:read' })
    expect(verdict).toMatchObject({ ok: true, presented: 'credential', subject: { credentialId: credential.credentialId } })
    await site.revoke(credential)
    expect(await guard.verify(testRequest('GET', URL, await credential.headersFor('GET', URL)), { scope: 'orders:read' })).toMatchObject({ ok: false, code: 'credential_revoked' })
    console.log(guard.state(), site.service.acknowledged)
  })
})
