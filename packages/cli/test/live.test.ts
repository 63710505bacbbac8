import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook } from '@countersign/sdk'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { start } from './countersign.ts'
import { expectAnswer, type Home, nowhere, openHome } from './home.ts'

let home: Home
beforeAll(async () => {
  home = await openHome()
})
afterAll(() => home?.close())

let users = 0
/** Puts one entry into the log. */
async function revokeSomebody(): Promise<string> {
  const ppid = `did:service:ppid_live-test-${++users}-of-this-run`
  const { code } = await home.run(['revoke-user', ppid, '--yes'])
  expect(code).toBe(0)
  return ppid
}

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('log', () => {
  test('lists entries newest first, by kind, and after a position', async () => {
    const ppid = await revokeSomebody()
    const { code, out } = await home.run(['log', '--limit', '1'])
    expect(code).toBe(0)
    expect(out).toMatch(/^SEQ +AT +KIND +ABOUT$/m)
    expect(out).toMatch(new RegExp(`^\\d+ +20\\S+Z +user\\.revoked +${ppid}$`, 'm'))
    const trusted = (await home.run(['log', '--kind', 'issuer.trusted', '--json'])).json()
    expect(trusted.items.at(-1)).toMatchObject({ kind: 'issuer.trusted', seq: 2 })
    const { epoch } = trusted.items[0]
    const first = (await home.run(['log', '--after', `${epoch}.0`, '--limit', '2', '--json'])).json()
    expect(first.items.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2])
    expect((await home.run(['log', '--before', `${epoch}.2`])).out).toMatch(/^1 +\S+ +site\.changed/m)
  })
  test('prints the signed head', async () => {
    const head = (await home.run(['log', '--head', '--json'])).json()
    expectAnswer('read_head', head)
    expect((await home.run(['log', '--head'])).out).toMatch(/^signature +\S{86}$/m)
  })
  test.each([
    [['--after', '12'], 2, 'epoch.seq'],
    [['--head', '--kind', 'user.revoked'], 2, '--head takes no'],
    [['--kind', 'user.made'], 1, 'kind'],
    [['--after', 'aaaaaaaa.1'], 1, 'another epoch'],
  ])('rejects %j', async (argv, exit, words) => {
    const { code, err } = await home.run(['log', ...argv])
    expect(code).toBe(exit)
    expect(err).toContain(words)
  })
})

describe('watch', () => {
  test('prints every entry as it comes, for people', { tags: 'long' }, async () => {
    const watching = start(['watch', '--count', '2'], { cwd: home.directory })
    await watching.until('Following demo.localhost after')
    const [one, other] = [await revokeSomebody(), await revokeSomebody()]
    const { code, out } = await watching.ended
    expect(code).toBe(0)
    const [first = '', second = ''] = out.trim().split('\n')
    expect(first).toMatch(/^20\S+Z +\d+ +user\.revoked +did:\S+ +\+-?\d+ ms$/)
    expect(first).toContain(one)
    expect(second).toContain(other)
  })
  test('prints entries as the log has them, for programs, from any place in it', async () => {
    const ppid = await revokeSomebody()
    const { epoch } = (await home.run(['revoke-user', ppid, '--yes', '--json'])).json()
    const { code, out } = await home.run(['watch', '--after', `${epoch}.0`, '--count', '2', '--json'])
    expect(code).toBe(0)
    const entries = lines(out).filter(({ event }) => event !== 'verifiers')
    expect(entries).toEqual([
      expect.objectContaining({
        event: 'site.changed',
        kind: 'site.changed',
        seq: 1,
        epoch,
        lag_ms: expect.any(Number),
      }),
      expect.objectContaining({ event: 'issuer.trusted', seq: 2, prev_hash: entries[0].hash }),
    ])
  })
  test('ends with 0 when it is told to stop', { tags: 'long' }, async () => {
    const watching = start(['watch'], { cwd: home.directory })
    await watching.until('Following')
    watching.kill('SIGINT')
    expect((await watching.ended).code).toBe(0)
  })
  test.each([
    ['a place that the log does not have', ['--after', 'aaaaaaaa.1'], 1, 'cursor_ahead'],
    ['a place that is none', ['--after', 'yesterday'], 2, 'epoch.seq'],
  ])('refuses %s', async (_, flags, code, words) => {
    expect(await home.run(['watch', ...flags])).toMatchObject({ code, err: expect.stringContaining(words) })
  })
  test('needs a key that may read the feed', async () => {
    await home.run(['keys', 'create', '--permissions', 'tokens:introspect', '--out', 'narrow.key'])
    expect(await home.run(['watch', '--api-key-file', 'narrow.key'])).toMatchObject({
      code: 4,
      err: expect.stringContaining('api_key_forbidden'),
    })
    const unanswered = await home.run(['watch', '--url', await nowhere(), '--site', 'demo.localhost'])
    expect(unanswered).toMatchObject({ code: 4, err: expect.stringContaining('COUNTERSIGN_API_KEY') })
    const env = {
      COUNTERSIGN_API_KEY: home.dev.site_key,
      COUNTERSIGN_URL: await nowhere(),
      COUNTERSIGN_SITE: 'demo.localhost',
    }
    expect((await home.run(['watch'], { env })).code).toBe(5)
  })
})

describe('listen', () => {
  interface Received {
    readonly headers: IncomingMessage['headers']
    readonly body: Uint8Array
  }
  async function receiver(status: number) {
    const received: Received[] = []
    const server = createServer((request, response) => {
      void buffer(request).then((body) => {
        received.push({ headers: request.headers, body: new Uint8Array(body) })
        response.writeHead(status).end()
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return {
      received,
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
      close: () => server.close(),
    }
  }
  const webhooks = async () => (await home.run(['webhooks', 'list', '--json'])).json().items

  test('passes deliveries on as they came, signature and all, and deletes its webhook at the end', {
    tags: 'long',
  }, async () => {
    const to = await receiver(204)
    const argv = [
      'listen',
      '--forward',
      to.url,
      '--kinds',
      'user.revoked',
      '--count',
      '1',
      '--out',
      'hook.secret',
    ]
    const listening = start(argv, { cwd: home.directory })
    await listening.until('Listening for demo.localhost')
    expect(await webhooks()).toHaveLength(1)
    const ppid = await revokeSomebody()
    const { code, out, err } = await listening.ended
    to.close()
    expect(code).toBe(0)
    expect(out).toMatch(/^20\S+Z +user\.revoked +demo\.localhost\.\w+\.\d+ {2}→ 204, \d+ ms\n$/)
    expect(err).toContain('Deleted the webhook')
    expect(await webhooks()).toHaveLength(0)
    const secret = readFileSync(home.file('hook.secret'), 'utf8').trim()
    expect(statSync(home.file('hook.secret')).mode & 0o777).toBe(0o600)
    expect(out + err).not.toContain(secret)
    const [{ headers, body } = { headers: {}, body: new Uint8Array() }] = to.received
    expect(await verifyWebhook({ secret, headers, body })).toMatchObject({
      type: 'user.revoked',
      data: { body: { ppid } },
    })
    new Webhook(secret).verify(Buffer.from(body), headers as Record<string, string>)
  })
  test('shows them as JSON, with what the receiver answered', async () => {
    const listening = start(['listen', '--forward', `${await nowhere()}/x`, '--count', '1', '--json'], {
      cwd: home.directory,
    })
    await listening.until('"listening"')
    await revokeSomebody()
    const { code, out } = await listening.ended
    expect(code).toBe(0)
    expect(lines(out)).toEqual([
      {
        event: 'listening',
        webhook_id: expect.any(String),
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
        secret: expect.stringMatching(/^whsec_/),
      },
      expect.objectContaining({
        event: 'user.revoked',
        entry: expect.any(Object),
        forwarded: { why: 'ECONNREFUSED', ms: expect.any(Number) },
      }),
    ])
  })
  test('takes nothing that is not signed for it', async () => {
    const listening = start(['listen', '--json'], { cwd: home.directory })
    await listening.until('"listening"')
    const [{ url }] = await webhooks()
    const answer = await fetch(url, {
      method: 'POST',
      body: '{}',
      headers: { 'webhook-id': 'x', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x' },
    })
    expect(answer.status).toBe(400)
    listening.kill('SIGTERM')
    const { code, out, err } = await listening.ended
    expect(code).toBe(0)
    expect(lines(out)).toHaveLength(1)
    expect(err).toContain('Rejected a delivery')
    expect(await webhooks()).toHaveLength(0)
  })
  test('refuses what it cannot pass on to', async () => {
    expect((await home.run(['listen', '--forward', 'ftp://x'])).code).toBe(2)
    expect((await home.run(['listen', '--kinds', 'nonsense', '--out', 'unused.secret'])).code).toBe(1)
    expect(existsSync(home.file('unused.secret'))).toBe(false)
    expect(await webhooks()).toHaveLength(0)
  })
  test('creates no webhook when the file for its secret cannot be created', async () => {
    const { code, err } = await home.run(['listen', '--out', 'nowhere/hook.secret'])
    expect(code).toBe(2)
    expect(err).toContain('The directory nowhere does not exist, so nothing was created.')
    expect(err).not.toContain('Deleted the webhook')
    expect(await webhooks()).toHaveLength(0)
  })
})

describe('bench', () => {
  test('draws the latencies of the protected route', { tags: 'long' }, async () => {
    const { code, out } = await home.run(['bench', '--seconds', '1', '--connections', '2'])
    expect(code).toBe(0)
    expect(out).toMatch(/^ +\d.* ms █+/m)
    expect(out).toMatch(/^requests +\d+, \d+ a second$/m)
    expect(out).toMatch(/^responses +\d+ × 200$/m)
  })
  test('answers with figures for programs, and signs each request of a bound credential', {
    tags: 'long',
  }, async () => {
    const { code, json } = await home.run([
      'bench',
      '--seconds',
      '1',
      '--connections',
      '2',
      '--bound',
      '--json',
    ])
    expect(code).toBe(0)
    const { requests, statuses, latency_ms, histogram, refused } = json()
    expect(statuses).toEqual({ 200: requests })
    expect(refused).toBe(0)
    expect(latency_ms.p50).toBeLessThanOrEqual(latency_ms.p99)
    expect(histogram.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(requests)
  })
  test('ends with 3 when anything is refused, 5 when no service answers, 2 when it is not this machine', {
    tags: 'long',
  }, async () => {
    expect(
      (await home.run(['bench', '--seconds', '1', '--connections', '1', '--path', '/nothing'])).code,
    ).toBe(3)
    expect((await home.run(['bench', '--seconds', '1', '--url', await nowhere()])).code).toBe(5)
    expect(await home.run(['bench', '--url', 'https://id.example'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--elsewhere'),
    })
    expect((await home.run(['bench', '--connections', '0'])).code).toBe(2)
  })
})
