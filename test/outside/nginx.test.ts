import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CREDENTIAL_HEADER,
  credentialHeader,
  importPrivateKey,
  type JsonObject,
  signRequest,
} from '@countersign/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProcess, startDevProcess } from '../../scripts/dev-process.ts'
import { type NginxProcess, startNginx, whyNoNginx } from './nginx-process.ts'
import { type Asking, toAsking } from './seen-fetch.ts'

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/forward-auth.md'), 'utf8')
const [SERVER, QUESTION] = [...guide.matchAll(/^```nginx\n(.*?)^```$/gms)].map(([, block]) =>
  String(block),
) as [string, string]

/**
 * Puts our address, port or path in the place of one that the guide has. Throws when the guide has
 * it no more.
 */
function adapted(block: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((text, [theirs, ours]) => {
    if (text.split(theirs).length !== 2) throw new Error(`the guide does not have ${theirs} exactly once`)
    return text.replace(theirs, ours)
  }, block)
}

const whyNot = whyNoNginx()
if (whyNot !== undefined)
  console.warn(`\nSKIPPED: forward-auth through nginx is not tested here, for ${whyNot}.\n`)

describe.skipIf(whyNot !== undefined)('nginx, configured as the guide says', () => {
  let directory: string
  let service: DevProcess
  let asking: Asking
  let nginx: NginxProcess
  let upstream: Server
  /** What the protected service was sent last. */
  let reached: { url: string | undefined; headers: IncomingHttpHeaders } | undefined

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'countersign-nginx-'))
    service = await startDevProcess()
    asking = toAsking(service.dev)
    upstream = createServer((incoming, response) => {
      reached = { url: incoming.url, headers: incoming.headers }
      incoming.resume().on('end', () => response.end('an order'))
    })
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    const { port } = upstream.address() as AddressInfo
    mkdirSync(join(directory, 'protected/files'), { recursive: true })
    writeFileSync(join(directory, 'protected/files/report.txt'), 'a protected file')
    writeFileSync(
      join(directory, 'countersign-question.conf'),
      adapted(QUESTION, { svc_sk_your_key: service.dev.site_key, 'Host $host;': 'Host $host:$server_port;' }),
      {
        mode: 0o600,
      },
    )
    nginx = await nginxAsking(new URL(service.dev.base_url).host, `http://127.0.0.1:${port}`)
  })
  afterAll(async () => {
    await nginx?.stop()
    await service?.stop()
    upstream?.close()
    rmSync(directory, { recursive: true, force: true })
  })

  const nginxAsking = (serviceHost: string, upstreamUrl: string) =>
    startNginx(directory, (port) =>
      adapted(SERVER, {
        'listen 80 default_server;': `listen 127.0.0.1:${port} default_server;`,
        'listen 80;': `listen 127.0.0.1:${port};`,
        'server_name shop.example;': 'server_name 127.0.0.1;',
        '127.0.0.1:8787': serviceHost,
        'http://127.0.0.1:9000': upstreamUrl,
        'root /srv/protected;': `root ${join(directory, 'protected')};`,
      }),
    )
  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    reached = undefined
    const answer = await fetch(nginx.url + path, { method, headers })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  const shown = (credential: JsonObject) => ({ [CREDENTIAL_HEADER]: credentialHeader(credential) })

  test('lets a credential and a bearer token to the file', async () => {
    const { credential } = await asking.issue({ scope: ['orders:read'] })
    expect(await get('/files/report.txt', shown(credential))).toMatchObject({
      status: 200,
      text: 'a protected file',
    })
    const token = await asking.tokenFor(credential)
    expect(await get('/files/report.txt', { authorization: `Bearer ${token}` })).toMatchObject({
      status: 200,
      text: 'a protected file',
    })
  })

  test('denies the file to a caller that shows nothing, or something forged', async () => {
    const { credential } = await asking.issue({ scope: ['orders:read'] })
    const forged = { ...credential, validUntil: '2099-01-01T00:00:00Z' }
    for (const headers of [
      {},
      shown(forged),
      { authorization: 'Bearer svc_at_nothing' },
      { [CREDENTIAL_HEADER]: 'x' },
    ]) {
      const { status, headers: answered, text } = await get('/files/report.txt', headers)
      expect(status).toBe(401)
      expect(answered.get('www-authenticate')).toMatch(/\S/)
      expect(text).not.toContain('a protected file')
    }
  })

  test('denies a caller without the scope', async () => {
    const { credential } = await asking.issue({ scope: ['orders:read'] })
    expect((await get('/orders/7', shown(credential))).status).toBe(403)
    expect(reached).toBeUndefined()
    const { credential: other } = await asking.issue({ scope: ['something:else'] })
    expect((await get('/files/report.txt', shown(other))).status).toBe(403)
  })

  test('refuses from the next request on after a revocation', async () => {
    const { credential, credential_id } = await asking.issue({ scope: ['orders:read'] })
    const token = await asking.tokenFor(credential)
    expect((await get('/files/report.txt', shown(credential))).status).toBe(200)
    await asking.revoke(credential_id)
    expect((await get('/files/report.txt', shown(credential))).status).toBe(401)
    expect((await get('/files/report.txt', { authorization: `Bearer ${token}` })).status).toBe(401)
  })

  test('tells the upstream who is calling, and does not show it the credential', async () => {
    const { credential, credential_id, ppid } = await asking.issue({ scope: ['orders:read', 'orders:write'] })
    expect((await get('/orders/7?a=1', shown(credential))).text).toBe('an order')
    expect(reached).toMatchObject({
      url: '/orders/7?a=1',
      headers: {
        'x-service-subject': ppid,
        'x-service-site': service.dev.site_id,
        'x-service-scope': 'orders:read orders:write',
        'x-service-credential-id': credential_id,
      },
    })
    for (const name of ['x-service-credential', 'authorization', 'x-api-key', 'x-service-body'])
      expect(reached?.headers).not.toHaveProperty(name)
  })

  test('lets no caller choose its own name, key or question', async () => {
    const { credential, ppid } = await asking.issue({ scope: ['orders:read', 'orders:write'] })
    const lies = {
      'x-service-subject': 'did:service:ppid_somebodyelse',
      'x-service-body': 'checked',
      'x-service-credential-id': 'cred_00000000',
      'x-service-issuer': 'https://idp.example',
      'x-service-token-subject': 'alice',
    }
    await get('/orders/7', { ...shown(credential), ...lies })
    expect(reached?.headers['x-service-subject']).toBe(ppid)
    for (const name of ['x-service-body', 'x-service-issuer', 'x-service-token-subject'])
      expect(reached?.headers).not.toHaveProperty(name)
    expect(reached?.headers['x-service-credential-id']).not.toBe(lies['x-service-credential-id'])
    expect((await get('/files/report.txt', { 'x-api-key': service.dev.site_key })).status).toBe(401)
    expect(
      (await get('/files/report.txt', { ...shown(credential), 'x-api-key': 'svc_sk_nothing' })).status,
    ).toBe(200)
    expect((await get('/_countersign/files', shown(credential))).status).toBe(404)
  })

  describe('with a credential that is bound to a key', () => {
    const proven = async (
      method: string,
      path: string,
      { body, authority }: { body?: string; authority?: string } = {},
    ) => {
      const { credential, holder_private_jwk } = service.dev.bound
      const header = credentialHeader(credential)
      const [plain = '', query] = path.split('?')
      const fields = await signRequest(
        {
          method,
          authority: authority ?? new URL(nginx.url).host,
          path: plain,
          query: query === undefined ? '' : `?${query}`,
          header: (name) => (name === CREDENTIAL_HEADER.toLowerCase() ? [header] : undefined),
          body: body === undefined ? 'none' : new TextEncoder().encode(body),
        },
        { key: await importPrivateKey(holder_private_jwk), nowMs: Date.now() },
      )
      return { [CREDENTIAL_HEADER]: header, ...fields } as Record<string, string>
    }

    test('lets the holder through, once for each proof', async () => {
      const headers = await proven('GET', '/orders/7?a=1&b=%20')
      expect((await get('/orders/7?a=1&b=%20', headers)).status).toBe(200)
      expect(reached?.headers['x-service-body']).toBe('unchecked')
      expect((await get('/orders/7?a=1&b=%20', headers)).status).toBe(401)
    })

    test('lets a request with a body through, and hands the body on', async () => {
      const headers = await proven('POST', '/orders/7', { body: 'a new order' })
      const answer = await fetch(`${nginx.url}/orders/7`, { method: 'POST', headers, body: 'a new order' })
      expect([answer.status, await answer.text()]).toEqual([200, 'an order'])
      expect(reached?.headers['content-length']).toBe('11')
    })

    test('refuses who has only the credential, or a proof of another request', async () => {
      expect((await get('/files/report.txt', shown(service.dev.bound.credential))).status).toBe(401)
      expect((await get('/files/report.txt', await proven('GET', '/files/other.txt'))).status).toBe(401)
      expect((await get('/files/report.txt', await proven('POST', '/files/report.txt'))).status).toBe(401)
      // The guide sets these itself.
      const told = { 'x-forwarded-uri': '/files/other.txt', 'x-original-uri': '/files/other.txt' }
      expect(
        (await get('/files/report.txt', { ...(await proven('GET', '/files/other.txt')), ...told })).status,
      ).toBe(401)
    })

    test('refuses a proof that was made for another host, however that name gets in', async () => {
      const { port } = new URL(nginx.url)
      const sent = async (target: string, authority: string) => {
        const headers = { ...(await proven('GET', '/files/report.txt', { authority })), host: authority }
        return new Promise<number | undefined>((resolve, reject) => {
          request({ host: '127.0.0.1', port, path: target, headers }, (answer) =>
            resolve(answer.resume().statusCode),
          )
            .once('error', reject)
            .end()
        })
      }
      expect(await sent('/files/report.txt', `127.0.0.1:${port}`)).toBe(200)
      expect(await sent('/files/report.txt', 'evil.example')).toBe(421)
      expect(await sent('/files/report.txt', '127.0.0.1:1')).toBe(401)
      expect(await sent('http://127.0.0.1/files/report.txt', 'evil.example')).toBe(401)
    })
  })

  test('denies every caller when the service is not there', async () => {
    const { credential } = await asking.issue({ scope: ['orders:read'] })
    // Nothing listens on port 1.
    const blind = await nginxAsking('127.0.0.1:1', nginx.url)
    try {
      const answer = await fetch(`${blind.url}/files/report.txt`, { headers: shown(credential) })
      expect([answer.status, await answer.text()]).toEqual([
        500,
        expect.not.stringContaining('a protected file'),
      ])
    } finally {
      await blind.stop()
    }
  })
})
