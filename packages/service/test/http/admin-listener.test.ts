import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../src/actions/api-keys.ts'
import { readConfig } from '../../src/config.ts'
import { createLogger } from '../../src/logger.ts'
import { adminRoutes } from '../../src/routes/admin.ts'
import { routes } from '../../src/routes/all.ts'
import { openService, type Service } from '../../src/service.ts'

const directory = mkdtempSync(join(tmpdir(), 'admin-'))
const env = {
  COUNTERSIGN_BASE_URL: 'http://127.0.0.1',
  COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4),
  COUNTERSIGN_PORT: '0',
  COUNTERSIGN_DATA_DIR: directory,
  COUNTERSIGN_RATE_LIMIT_WRONG_KEY: '2/1000',
}
const options = { log: createLogger('silent'), onFatal: () => {} }

let service: Service
let main: string
let admin: string
let key: string
beforeAll(async () => {
  service = await openService(readConfig('production', { env }), options)
  const { port, adminPort } = await service.listen()
  main = `http://127.0.0.1:${port}`
  admin = `http://127.0.0.1:${adminPort}`
  const order = { siteId: null, permissions: [], label: undefined, expiresInSeconds: undefined }
  key = (
    await createApiKey(service.deps, order, { actor: 'operator', atMs: Date.now(), requestId: undefined })
  ).secret
})
afterAll(async () => {
  await service.close()
  rmSync(directory, { recursive: true, force: true })
})

const statusOf = async (url: string, path: string, init: RequestInit = {}) =>
  (await fetch(url + path, init)).status
const withKey = () => ({ headers: { 'X-API-Key': key } })

describe('the admin listener (B2)', () => {
  test('serves health, metrics, administration and revocation', async () => {
    expect(
      await Promise.all(
        ['/healthz', '/readyz', '/metrics', '/.well-known/countersign'].map((path) => statusOf(admin, path)),
      ),
    ).toEqual([200, 200, 200, 200])
    expect(await statusOf(admin, '/api/sites', withKey())).toBe(200)
    expect(await statusOf(admin, '/api/sites')).toBe(401)
    const revoking = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
      body: '{}',
    }
    for (const path of [
      '/api/wallet/revoke-user',
      '/api/wallet/sign-out-user',
      '/api/sites/shop.example/revoke-holder',
      '/api/sites/shop.example/cut-off-issuer',
      '/api/sites/shop.example/cut-off',
      '/api/sites/shop.example/users/resolve',
    ])
      expect([path, await statusOf(admin, path, revoking)]).toEqual([path, 422])
    const answer = await fetch(`${admin}/metrics`)
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await answer.text()).toContain('# TYPE countersign_requests_total counter')
  })
  test('serves nothing that load could move to, and says so', async () => {
    for (const [method, path] of [
      ['POST', '/api/protected/action'],
      ['POST', '/api/auth/exchange-proof'],
      ['POST', '/api/auth/introspect'],
      ['GET', '/api/sites/shop.example/feed'],
      ['GET', '/auth/sign-in'],
    ] as const) {
      const answer = await fetch(admin + path, { method })
      expect([path, answer.status]).toEqual([path, 404])
      expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('main port') })
    }
  })
  test('serves the whole console, with the feed for people and not for verifiers', async () => {
    const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }
    for (const [path, init] of [
      ['/sites/shop.example/feed', {}],
      ['/sites/shop.example/snapshot', {}],
      ['/wallet/offers', post],
    ] as const) {
      const statuses = [
        await statusOf(admin, `/console/api${path}`, init),
        await statusOf(admin, `/api${path}`, init),
      ]
      // 403: it asks for the page of the console.
      expect([path, ...statuses]).toEqual([path, 403, 404])
    }
  })
  test('takes nothing away from the main port, which has no metrics', async () => {
    expect(Object.keys(adminRoutes).filter((id) => !(id in routes))).toEqual(['metrics'])
    expect(await statusOf(main, '/api/sites', withKey())).toBe(200)
    expect([await statusOf(main, '/readyz'), await statusOf(main, '/metrics')]).toEqual([200, 404])
  })
  test('shares the allowances of callers with the main port', async () => {
    const wrong = { headers: { 'X-API-Key': `${key.slice(0, -3)}000` } }
    expect([await statusOf(main, '/api/sites', wrong), await statusOf(admin, '/api/sites', wrong)]).toEqual([
      401, 401,
    ])
    expect([await statusOf(main, '/api/sites', wrong), await statusOf(admin, '/api/sites', wrong)]).toEqual([
      429, 429,
    ])
  })
  test('can be switched off', async () => {
    const other = { ...env, COUNTERSIGN_DATA_DIR: join(directory, 'other'), COUNTERSIGN_ADMIN_PORT: 'off' }
    const alone = await openService(readConfig('production', { env: other }), options)
    expect((await alone.listen()).adminPort).toBeUndefined()
    await alone.close()
  })
  test('needs a port that is free, and leaves none open when it has none', async () => {
    const other = {
      ...env,
      COUNTERSIGN_DATA_DIR: join(directory, 'third'),
      COUNTERSIGN_ADMIN_PORT: new URL(admin).port,
    }
    const second = await openService(readConfig('production', { env: other }), options)
    await expect(second.listen()).rejects.toMatchObject({
      code: 'EADDRINUSE',
      port: Number(new URL(admin).port),
    })
    await second.close()
  })
})
