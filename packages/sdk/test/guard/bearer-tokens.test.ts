import { expect, test } from 'vitest'
import { createBearerTokens } from '../../src/guard/bearer-tokens.ts'
import { createTestSite } from '../../src/testing/test-site.ts'

test('no more tokens are remembered than there is room for, and the least recently used goes first', async () => {
  const site = await createTestSite()
  const credential = await site.issue()
  const asked: string[] = []
  const introspect = async (token: string, nonce: string) => {
    asked.push(token)
    const init = {
      method: 'POST',
      headers: { 'x-api-key': 'svc_sk_test' },
      body: JSON.stringify({ token, nonce }),
    }
    return (await site.service.fetch('https://countersign.test/api/auth/introspect', init)).json()
  }
  const { clock } = site
  const keys = { find: async () => site.feedKey.key.publicKey }
  const { signal } = new AbortController()
  const tokens = createBearerTokens({
    siteId: site.revocationData.site.siteId,
    introspect,
    keys,
    clock,
    signal,
    capacity: 3,
  })
  const [a, b, c, d] = await Promise.all([1, 2, 3, 4].map(() => site.exchange(credential)))
  const find = (token = '') => tokens.find(token, site.clock.nowMs, true)
  for (const token of [a, b, c, a, d]) expect(await find(token)).toMatchObject({ ppid: credential.ppid })
  expect(asked).toEqual([a, b, c, d])
  await find(a)
  await find(c)
  expect(asked).toHaveLength(4)
  await find(b)
  expect(asked.at(-1)).toBe(b)
  await site.close()
})
