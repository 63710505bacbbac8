import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { didKey, generatePrivateKey } from '@countersign/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../src/actions/api-keys.ts'
import { readConfig } from '../../src/config.ts'
import { tooFarProblem } from '../../src/log/waiters.ts'
import { createLogger } from '../../src/logger.ts'
import { openService, type Service } from '../../src/service.ts'

const directory = mkdtempSync(join(tmpdir(), 'unknown-outcomes-'))
const env = {
  COUNTERSIGN_BASE_URL: 'http://127.0.0.1',
  COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4),
  COUNTERSIGN_PORT: '0',
  COUNTERSIGN_ADMIN_PORT: 'off',
  COUNTERSIGN_DATA_DIR: directory,
}

let service: Service
let url: string
let key: string
beforeAll(async () => {
  const options = { log: createLogger('silent'), onFatal: () => {} }
  service = await openService(readConfig('production', { env }), options)
  url = `http://127.0.0.1:${(await service.listen()).port}`
  const order = { siteId: null, permissions: [], label: undefined, expiresInSeconds: undefined }
  const context = { actor: 'operator', atMs: Date.now(), requestId: undefined }
  key = (await createApiKey(service.deps, order, context)).secret
})
afterAll(async () => {
  await service.close()
  rmSync(directory, { recursive: true, force: true })
})

const post = async (path: string, body: object, idempotencyKey: string) => {
  const headers = {
    'Content-Type': 'application/json',
    'X-API-Key': key,
    'Idempotency-Key': idempotencyKey,
  }
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** The node commits a change, and cannot apply it in time. */
const whileBehind = async <T>(work: () => Promise<T>): Promise<T> => {
  const { views } = service.deps
  const { waitFor } = views
  views.waitFor = () => Promise.reject(tooFarProblem())
  try {
    return await work()
  } finally {
    views.waitFor = waitFor
  }
}

describe('a request that was committed and answered with 503', () => {
  const issuers = '/api/sites/shop.example/issuers'
  const cases = async () => {
    const issuer = didKey((await generatePrivateKey('Ed25519')).publicKey)
    const jwks = { keys: [generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })] }
    const oauth = { type: 'oauth', issuer: 'https://idp.example', audience: ['https://api.example'], jwks }
    return [
      { path: '/api/sites', body: { site_id: 'shop.example', name: 'Shop' }, other: { name: 'Stop' } },
      { path: issuers, body: { issuer, scope: ['orders:read'] }, other: { scope: ['orders:write'] } },
      { path: issuers, body: { ...oauth, label: 'IdP' }, other: { label: 'Another' } },
    ]
  }

  test('succeeds when it is repeated with its Idempotency-Key, and only then', async () => {
    for (const [i, { path, body, other }] of (await cases()).entries()) {
      const first = await whileBehind(() => post(path, body, `first-${i}`))
      expect([first.status, first.body.code]).toEqual([503, 'revocation_view_stale'])
      const repeated = await post(path, body, `first-${i}`)
      expect([repeated.status, repeated.body]).toMatchObject([201, body.site_id ? body : {}])
      // From now on the answer is kept.
      expect(await post(path, body, `first-${i}`)).toEqual(repeated)
      for (const [sent, name] of [
        [body, `second-${i}`],
        [{ ...body, ...other }, `third-${i}`],
      ] as const) {
        const rejected = await post(path, sent, name)
        expect([rejected.status, rejected.body.code]).toEqual([409, 'already_exists'])
      }
    }
    const listed = await fetch(`${url}${issuers}`, { headers: { 'X-API-Key': key } })
    expect(((await listed.json()) as { items: unknown[] }).items).toHaveLength(3)
  })

  test('gets 409 when something else has taken the name meanwhile', async () => {
    const { createSite } = service.deps.store
    service.deps.store.createSite = () => Promise.reject(tooFarProblem())
    const wanted = { site_id: 'late.example', bearer: 'off' }
    expect((await post('/api/sites', wanted, 'late')).status).toBe(503)
    service.deps.store.createSite = createSite
    expect((await post('/api/sites', { ...wanted, bearer: 'on' }, 'other')).status).toBe(201)
    const repeated = await post('/api/sites', wanted, 'late')
    expect([repeated.status, repeated.body.code]).toEqual([409, 'already_exists'])
  })
})
