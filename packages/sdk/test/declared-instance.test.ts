import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createGuard, FAIL_OPEN } from '../src/index.ts'
import { createTestSite } from '../src/testing/index.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** The requests of a guard that was ready and then closed, by path. */
async function collectRequests(options: object) {
  const site = await createTestSite()
  const seen: { readonly path: string; readonly headers: Headers; readonly body: unknown }[] = []
  const guard = createGuard({
    ...site.guardOptions,
    ...options,
    fetch: (url, init) => {
      const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
      seen.push({ path: url.replace(/^.*\/api\/sites\/[^/]*/, ''), headers: new Headers(init.headers), body })
      return site.service.fetch(url, init)
    },
  })
  await guard.ready()
  await site.advance(11_000)
  const { instanceId, verifierId } = guard.state()
  await guard.close()
  await site.close()
  return { seen, instanceId, verifierId, of: (path: string) => seen.filter((each) => each.path === path) }
}

test('a guard declares its instance, bound and name before it is given a signed head', async () => {
  const { of, instanceId, verifierId } = await collectRequests({
    verifierId: 'web',
    maxStalenessSeconds: 7.5,
  })
  expect(verifierId).toBe('web')
  for (const path of ['/snapshot', '/feed']) {
    const [{ headers }] = of(path) as unknown as [{ headers: Headers }]
    expect(
      ['x-verifier-instance', 'x-verifier-id', 'x-verifier-max-staleness', 'x-verifier-fail-open'].map(
        (name) => headers.get(name),
      ),
    ).toEqual([instanceId, 'web', '8', null])
    expect(headers.get('x-verifier-version')).toBe(`sdk/${version}`)
  }
})

test('one that fails open says so, and one without a name goes by its instance', async () => {
  const { of, instanceId, verifierId } = await collectRequests({ [FAIL_OPEN]: true })
  expect(verifierId).toBe(instanceId)
  const [{ headers }] = of('/snapshot') as unknown as [{ headers: Headers }]
  expect([headers.get('x-verifier-fail-open'), headers.get('x-verifier-id')]).toEqual(['1', null])
})

test('two guards of one process are two instances (B4)', async () => {
  const [one, two] = [
    await collectRequests({ verifierId: 'web' }),
    await collectRequests({ verifierId: 'web' }),
  ]
  expect(one.instanceId).not.toBe(two.instanceId)
})

test('every heartbeat is acknowledged with the wall clock, and the end once (B11)', async () => {
  const { of, instanceId } = await collectRequests({})
  const acks = of('/feed/ack')
  expect(acks.length).toBeGreaterThanOrEqual(4)
  expect(acks.every(({ headers }) => headers.get('x-verifier-instance') === instanceId)).toBe(true)
  expect(acks.map(({ body }) => (body as { closed?: true }).closed)).toEqual([
    ...acks.slice(1).map(() => undefined),
    true,
  ])
  expect(acks[0]?.body).toMatchObject({ seq: 2, sent_at: expect.stringMatching(/^\d{4}-.*Z$/) })
})
