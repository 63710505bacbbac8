import {
  discoverySchema,
  feedEventDataSchema,
  introspectionSchema,
  snapshotLineSchema,
} from '@countersign/core/contract'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestClock } from '../../src/testing/test-clock.ts'
import { testRequest } from '../../src/testing/test-request.ts'
import { createTestSite, type TestSite } from '../../src/testing/test-site.ts'

let site: TestSite
beforeEach(async () => {
  site = await createTestSite()
})
afterEach(() => site.close())

const ask = (path: string, init: RequestInit = {}) =>
  site.service.fetch(`https://countersign.test${path}`, {
    ...init,
    headers: { 'x-api-key': 'svc_sk_test', ...init.headers },
  })

describe('the service of a test site speaks the contract', () => {
  test('snapshot', async () => {
    await site.revoke(await site.issue())
    await site.revokeUser('bob')
    const lines = (await (await ask('/api/sites/shop.example/snapshot')).text()).trimEnd().split('\n')
    expect(lines).toHaveLength(6)
    for (const line of lines) expect(snapshotLineSchema.safeParse(JSON.parse(line)).success, line).toBe(true)
  })

  test('feed', async () => {
    await site.revoke(await site.issue())
    const response = await ask('/api/sites/shop.example/feed', {
      headers: { 'last-event-id': `${site.log.head.epoch}.0` },
    })
    const { value } = (await response.body?.getReader().read()) ?? {}
    const data = [...new TextDecoder().decode(value).matchAll(/^data: (.*)$/gm)].map(([, text = '']) =>
      JSON.parse(text),
    )
    expect(data).toHaveLength(4)
    for (const one of data) expect(feedEventDataSchema.safeParse(one).success, JSON.stringify(one)).toBe(true)
  })

  test('introspection and the keys of discovery', async () => {
    const token = await site.exchange(await site.issue())
    for (const one of [token, 'svc_at_unknown']) {
      const answer = await (
        await ask('/api/auth/introspect', { method: 'POST', body: JSON.stringify({ token: one }) })
      ).json()
      expect(introspectionSchema.safeParse(answer).success, JSON.stringify(answer)).toBe(true)
    }
    const discovery = (await (await ask('/.well-known/countersign')).json()) as { feed: unknown }
    expect(discoverySchema.shape.feed.safeParse(discovery.feed).success).toBe(true)
  })

  test('refusals', async () => {
    expect(
      (await ask('/api/sites/shop.example/snapshot', { headers: { 'x-api-key': 'another' } })).status,
    ).toBe(401)
    expect((await ask('/api/sites/other.example/snapshot')).status).toBe(404)
    expect(
      (await ask('/api/sites/shop.example/feed', { headers: { 'last-event-id': 'fedcba9876543210.1' } }))
        .status,
    ).toBe(409)
    expect(
      (
        await ask('/api/sites/shop.example/feed', {
          headers: { 'last-event-id': `${site.log.head.epoch}.99` },
        })
      ).status,
    ).toBe(409)
  })
})

test('a test clock stands still, runs what is due in order, and can be set wrong', async () => {
  const clock = createTestClock(1_000)
  const seen: string[] = []
  clock.after(30, () => seen.push(`late ${clock.nowMs}`))
  const cancel = clock.after(20, () => seen.push('never'))
  clock.after(10, () => {
    seen.push(`early ${clock.nowMs}`)
    clock.after(5, () => seen.push(`from within ${clock.nowMs}`))
  })
  cancel()
  expect(clock.pending).toBe(2)
  await clock.advance(29)
  expect(seen).toEqual(['early 1010', 'from within 1015'])
  clock.jump(-500)
  await clock.advance(1)
  expect(seen.at(-1)).toBe('late 530')
  expect(clock.read()).toEqual({ wallMs: 530, monotonicMs: 30 })
})

test('two guards of one site both know; users of one name are one user', async () => {
  const [one, two] = [await site.guard(), await site.guard({ verifierId: 'two' })]
  expect((await site.issue({ user: 'x' })).ppid).toBe((await site.issue({ user: 'x' })).ppid)
  expect((await site.issue({ user: 'x' })).ppid).not.toBe((await site.issue({ user: 'y' })).ppid)
  await site.revokeUser('x')
  expect([one.state().seq, two.state().seq]).toEqual([3, 3])
  await site.advance(1_000)
  expect(site.service.acknowledged.get('two')).toMatchObject({ seq: 3 })
})

test('a test site works where a test has replaced all timers', async () => {
  vi.useFakeTimers()
  try {
    const faked = await createTestSite()
    const guard = await faked.guard()
    const alice = await faked.issue({ user: 'alice' })
    const ask = async () => {
      const headers = await alice.headersFor('GET', 'https://shop.example/')
      return guard.verify(testRequest('GET', 'https://shop.example/', headers))
    }
    expect(await ask()).toMatchObject({ ok: true })
    await faked.revokeUser('alice')
    expect(await ask()).toMatchObject({ code: 'credential_revoked' })
    await faked.close()
  } finally {
    vi.useRealTimers()
  }
})
