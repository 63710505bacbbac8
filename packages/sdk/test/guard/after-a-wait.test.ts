import type { Scope } from '@countersign/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createGuard, type Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestSite, testRequest } from '../../src/testing/index.ts'

const url = 'https://shop.example/orders'
const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

async function open(): Promise<{ site: TestSite; guard: Guard }> {
  const site = await createTestSite({ siteId: 'shop.example' })
  opened.push(site)
  return { site, guard: await site.guard() }
}

const codeFrom = (verdict: Awaited<ReturnType<Guard['verify']>>) => (verdict.ok ? 'allowed' : verdict.code)

describe('I-12: after a wait, a guard decides by the present time', () => {
  test.each([
    [5_000, 'allowed'],
    [20_000, 'credential_expired'],
  ])('a credential has 10 s left and the nonce store takes %s ms: %s', async (waitMs, code) => {
    const { site } = await open()
    const nonceStore = {
      async consume() {
        await site.advance(waitMs)
        return 'fresh' as const
      },
    }
    const guard = createGuard({ ...site.guardOptions, nonceStore })
    opened.push(guard)
    await guard.ready()
    const bound = await site.issue({ scope: 'orders:read', bound: true, ttlSeconds: 60 })
    await site.advance(50_000)
    const request = testRequest('GET', url, await bound.headersFor('GET', url))
    expect(codeFrom(await guard.verify(request, { scope: 'orders:read' }))).toBe(code)
  })
})

describe('I-3: a process that is paused in the middle of a decision', () => {
  test.each([
    [20, 'allowed'],
    [600_000, 'revocation_view_stale'],
  ])('for %s ms: %s', async (pauseMs, code) => {
    const { site } = await open()
    let pausedMs = 0
    const { clock } = site
    const guard = createGuard({
      ...site.guardOptions,
      clock: {
        read: () => {
          const { wallMs, monotonicMs } = clock.read()
          return { wallMs: wallMs + pausedMs, monotonicMs: monotonicMs + pausedMs }
        },
        after: (ms, callback) => clock.after(ms, callback),
      },
    })
    opened.push(guard)
    await guard.ready()
    const credential = await site.issue({ scope: 'orders:read' })
    const headers = await credential.headersFor('GET', url)
    const ask = (pause: () => void) => {
      const request = testRequest('GET', url, headers)
      return guard.verify(
        {
          ...request,
          header: (name) => {
            pause()
            return request.header(name)
          },
        },
        { scope: 'orders:read' },
      )
    }
    // The signature is verified by now, so the next decision waits for nothing.
    expect(codeFrom(await ask(() => {}))).toBe('allowed')
    const pause = () => {
      pausedMs = pauseMs
    }
    expect(codeFrom(await ask(pause))).toBe(code)
  })
})

describe('a global Promise that was replaced, as by zone.js', () => {
  afterEach(() => vi.unstubAllGlobals())

  test('changes no verdict: plain and bound credentials, and bearer tokens', async () => {
    const { site, guard } = await open()
    const plain = await site.issue({ scope: 'orders:read' })
    const bound = await site.issue({ scope: 'orders:read', bound: true })
    const token = await site.exchange(plain)
    await site.advance(5_000)
    const requests = [
      await plain.headersFor('GET', url),
      { authorization: `Bearer ${token}` },
      await bound.headersFor('GET', url),
      {},
    ]
    class OtherPromise<Value> extends Promise<Value> {}
    vi.stubGlobal('Promise', OtherPromise)
    const codes: string[] = []
    for (const headers of requests)
      codes.push(codeFrom(await guard.verify(testRequest('GET', url, headers), { scope: 'orders:read' })))
    expect(codes).toEqual(['allowed', 'allowed', 'allowed', 'credential_missing'])
  })
})

describe('demands that are added to a request', () => {
  test('keep every choice of scopes, also for the signals of the request', async () => {
    const { site, guard } = await open()
    const credential = await site.issue({ scope: ['a', 'b', 'c'] })
    const request = testRequest('GET', url, await credential.headersFor('GET', url))
    const allowed = await guard.verify(request, { anyScope: ['a', 'b'] })
    if (!allowed.ok) throw new Error(allowed.code)
    for (let times = 0; times < 3; times++) expect(guard.recheck(allowed, { anyScope: ['c'] }).ok).toBe(true)
    const signal = guard.signal(allowed)
    expect(codeFrom(guard.recheck(allowed, { anyScope: ['d'] }))).toBe('scope_insufficient')
    await site.trustIssuer({ scope: ['c' as Scope] })
    expect(codeFrom(guard.recheck(allowed, { scope: 'c' }))).toBe('scope_insufficient')
    await vi.waitFor(() => expect(signal.aborted).toBe(true))
  })
})

test('a guard waits for any time that no timer can wait for', async () => {
  const { site, guard } = await open()
  const other = createGuard({
    ...site.guardOptions,
    fetch: () => new Promise(() => {}),
    onStateChange: () => {},
  })
  const waiting = [Infinity, 30 * 86_400_000].map((timeoutMs) =>
    other.ready({ timeoutMs }).then(
      () => 'ready',
      (reason: Error) => reason.name,
    ),
  )
  const first = await Promise.race([...waiting, new Promise((resolve) => setTimeout(resolve, 50, 'waits'))])
  expect(first).toBe('waits')
  await other.close()
  expect(await Promise.all(waiting)).toEqual(['Error', 'Error'])
  await guard.ready({ timeoutMs: Infinity })
})
