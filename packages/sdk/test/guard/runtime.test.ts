import { afterEach, describe, expect, test, vi } from 'vitest'
import { createGuard } from '../../src/guard/guard.ts'
import { isRequestBound } from '../../src/guard/runtime.ts'

const options = {
  baseUrl: 'https://auth.example',
  siteId: 'shop.example',
  apiKey: 'svc_sk_x',
  onStateChange: () => undefined,
}
afterEach(() => vi.unstubAllGlobals())

describe('a runtime that ends connections with the request that opened them', () => {
  test.each([
    ['Workers, by their name', { navigator: { userAgent: 'Cloudflare-Workers' } }, true],
    ['Workers without a name', { WebSocketPair: class {}, caches: { default: {} } }, true],
    ['Node', { navigator: { userAgent: 'Node.js/24' } }, false],
    ['Deno, with caches', { navigator: { userAgent: 'Deno/2.9.6' }, caches: {} }, false],
    ['Bun', { navigator: { userAgent: 'Bun/1.4.4' } }, false],
    ['a browser', { navigator: { userAgent: 'Mozilla/5.0' }, caches: {} }, false],
    ['nothing at all', {}, false],
  ])('%s', (_name, globals, expected) => {
    expect(isRequestBound(globals)).toBe(expected)
  })

  test('gets no guard but a clear error', async () => {
    await createGuard(options).close()
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    expect(() => createGuard(options)).toThrow(
      /needs a process that stays alive between requests.*Cloudflare Workers/s,
    )
  })
})
