import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createGuard } from '@countersign/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Faults, openFaultProxy } from './fault-proxy.ts'
import { type Home, nowhere, openHome } from './home.ts'

let home: Home
beforeAll(async () => {
  home = await openHome()
})
afterAll(() => home?.close())

interface Finding {
  readonly check: string
  readonly level: string
  readonly detail: string
  readonly fix?: string
}

/** What the doctor finds through a proxy with these faults, as a client elsewhere would. */
async function through(
  faults: Faults,
): Promise<{ readonly code: number | null; readonly findings: readonly Finding[] }> {
  const proxy = await openFaultProxy(home.dev.base_url, faults)
  try {
    const env = {
      COUNTERSIGN_URL: proxy.url,
      COUNTERSIGN_API_KEY: home.dev.site_key,
      COUNTERSIGN_SITE: home.dev.site_id,
    }
    const { code, json } = await home.run(['doctor', '--no-local', '--json'], { env })
    return { code, findings: json().findings }
  } finally {
    proxy.close()
  }
}

const wrongIn = (findings: readonly Finding[]) =>
  findings.filter(({ level }) => level === 'problem' || level === 'warning')

// The doctor waits for two heartbeats, five seconds apart.
describe.concurrent('a sound installation', () => {
  test('has nothing wrong with it, here and over HTTP', { tags: 'long' }, async () => {
    const { code, out, err } = await home.run(['doctor'])
    expect(code, out).toBe(0)
    expect(err).toContain('No problems found')
    for (const check of [
      'settings',
      'files',
      'store',
      'master key',
      'reach',
      'clock',
      'ready',
      'address',
      'headers',
      'pins',
      'holder proof',
      'key',
      'feed',
      'view',
      'webhooks',
      'verifiers',
    ])
      expect(out).toMatch(new RegExp(`^ok +${check} `, 'm'))
    expect(out).toMatch(new RegExp(`^ok +settings +development, ${home.dev.base_url}$`, 'm'))
  })
  test('S3 prints pins for the current and the next feed key that a guard accepts as they are', {
    tags: 'long',
  }, async () => {
    const [{ out, json }, { out: shown }] = await Promise.all([
      home.run(['doctor', '--no-local', '--json']),
      home.run(['doctor', '--no-local']),
    ])
    expect(out).not.toBe('')
    const { pins } = json().findings.find(({ check }: Finding) => check === 'pins')
    const [kid = ''] = Object.keys(pins)
    expect(pins).toEqual({ [kid]: kid, next: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) })
    const { base_url: baseUrl, site_id: siteId, site_key: apiKey } = home.dev
    const guard = createGuard({ baseUrl, siteId, apiKey, feedKeys: pins })
    await guard.ready()
    expect(guard.state()).toMatchObject({ ready: true })
    await guard.close()
    expect(shown).toContain(`'${kid}': '${kid}',`)
    expect(shown).toContain(`next: '${pins.next}',`)
  })
  test('is left as it is by a proxy that does nothing wrong: only its address is another', {
    tags: 'long',
  }, async () => {
    const { code, findings } = await through({})
    expect(code).toBe(0)
    expect(wrongIn(findings)).toEqual([
      expect.objectContaining({
        check: 'address',
        level: 'warning',
        detail: expect.stringContaining(home.dev.base_url),
      }),
    ])
  })
})

// Each changes only a proxy of its own.
describe.concurrent('each fault is found, with what to do about it', () => {
  test.each<[string, Faults, string, RegExp]>([
    ['a proxy that holds the feed back', { buffers: 'all' }, 'feed', /proxy_buffering off/],
    [
      'a proxy that lets only the beginning of the feed through',
      { buffers: 'first' },
      'feed',
      /proxy_buffering off/,
    ],
    ['a proxy that cuts long headers', { headerCharsMax: 4096 }, 'headers', /large_client_header_buffers/],
    [
      'a proxy that drops the credential',
      { dropsFromRequest: ['x-service-credential'] },
      'headers',
      /forward it/,
    ],
    [
      'a proxy that drops headers of answers',
      { dropsFromAnswer: ['service-version'] },
      'headers',
      /keep these response headers/,
    ],
    ['a proxy that replaces request ids', { setsRequestId: 'mine' }, 'headers', /X-Request-Id/],
    ['a clock that is ahead', { dateAheadMs: 60_000 }, 'clock', /NTP/],
    ['a clock that is behind', { dateAheadMs: -60_000 }, 'clock', /NTP/],
    ['a node that is not ready', { answers: { '/readyz': 503 } }, 'ready', /log of the service/],
  ])('%s', { tags: 'long' }, async (_, faults, check, fix) => {
    const { findings } = await through(faults)
    const wrong = wrongIn(findings).filter((finding) => finding.check !== 'address')
    expect(wrong).toEqual([expect.objectContaining({ check, fix: expect.stringMatching(fix) })])
  })
  test('ends with 3 for a problem, and with 0 for a warning', { tags: 'long' }, async () => {
    expect((await through({ headerCharsMax: 4096 })).code).toBe(3)
    expect((await through({ setsRequestId: 'mine' })).code).toBe(0)
  })
  test('a proxy that changes what was signed', { tags: 'long' }, async () => {
    const proxy = await openFaultProxy(home.dev.base_url, { dropsFromRequest: ['signature'] })
    mkdirSync(home.file('behind/data'), { recursive: true })
    writeFileSync(home.file('behind/data/dev.json'), JSON.stringify({ ...home.dev, base_url: proxy.url }), {
      mode: 0o600,
    })
    const { json } = await home.run(['doctor', '--json', '--no-local'], { cwd: home.file('behind') })
    proxy.close()
    expect(json().findings).toContainEqual(
      expect.objectContaining({
        check: 'holder proof',
        level: 'problem',
        fix: expect.stringContaining('Signature-Input'),
      }),
    )
  })
})

describe.concurrent('what cannot be looked at', () => {
  test('no answer: 5, and what is here is looked at all the same', { tags: 'long' }, async () => {
    const { code, out } = await home.run(['doctor', '--url', await nowhere()])
    expect(code).toBe(5)
    expect(out).toMatch(/^FAIL +reach +There is no response .*ECONNREFUSED/m)
    expect(out).toMatch(/^ok +store/m)
  })
  test('something else answers: 5', { tags: 'long' }, async () => {
    const { code, findings } = await through({ answers: { '/healthz': 200 } })
    expect(code).toBe(5)
    expect(findings).toEqual([
      expect.objectContaining({ check: 'reach', detail: expect.stringContaining('Another program answers') }),
    ])
  })
  test('without a key the site is left out, and that is said', async () => {
    const { code, out } = await home.run(['doctor', '--no-local'], {
      cwd: '/',
      env: { COUNTERSIGN_URL: home.dev.base_url },
    })
    expect(code).toBe(0)
    expect(out).toMatch(/^skip +site +.*needs --site and a key/m)
    expect(out).toMatch(/^skip +holder proof/m)
  })
  test('over plain http to another machine no key is sent, and the site is left out', {
    tags: 'long',
  }, async () => {
    const proxy = await openFaultProxy(home.dev.base_url, {})
    const env = {
      // No loopback address, although this machine answers at it.
      COUNTERSIGN_URL: proxy.url.replace('127.0.0.1', '0.0.0.0'),
      COUNTERSIGN_API_KEY: home.dev.site_key,
      COUNTERSIGN_SITE: home.dev.site_id,
    }
    const { code, json } = await home.run(['doctor', '--no-local', '--json'], { env })
    proxy.close()
    expect(code).toBe(3)
    expect(json().findings.filter(({ level }: Finding) => level === 'problem')).toEqual([
      expect.objectContaining({ check: 'tls' }),
    ])
    expect(json().findings).toContainEqual({
      check: 'site',
      level: 'skipped',
      detail: 'Checking the feed, webhooks and verifiers needs a key, which is not sent over plain http.',
    })
    expect(proxy.seen.length).toBeGreaterThan(0)
    expect(proxy.seen.filter((headers) => 'x-api-key' in headers)).toEqual([])
  })
  test('a key that may only read the feed has that looked at', async () => {
    await home.run(['keys', 'create', '--permissions', 'feed:read', '--out', 'feed.key'])
    const { code, out } = await home.run(['doctor', '--no-local', '--api-key-file', 'feed.key'])
    expect(code).toBe(0)
    expect(out).toMatch(/^warn +key/m)
    expect(out).toMatch(/^ok +feed/m)
    expect(out).not.toMatch(/^\w+ +webhooks/m)
  })
  test('without an address the service is left out, and that is said', async () => {
    mkdirSync(home.file('elsewhere'), { recursive: true })
    const argv = ['doctor', '--data-dir', home.file('data')]
    const { code, out, err } = await home.run(argv, { cwd: home.file('elsewhere') })
    expect([code, err]).toEqual([0, expect.stringContaining('No problems found')])
    expect(out).toMatch(/^ok +store +SQLite/m)
    expect(out).toMatch(/^skip +service +Not checked\. Give --url to check the running service\.$/m)
    const { json } = await home.run([...argv, '--json'], { cwd: home.file('elsewhere') })
    expect(json()).toMatchObject({ ok: true })
    expect(json().findings).toContainEqual({
      check: 'service',
      level: 'skipped',
      detail: 'Not checked. Give --url to check the running service.',
    })
  })
  test('an invalid address or an unreadable key is a usage error, with an installation here too', async () => {
    expect(await home.run(['doctor', '--url', 'id.example'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('must be an http or https URL'),
    })
    expect(await home.run(['doctor', '--api-key-file', 'nowhere.key'])).toMatchObject({ code: 2 })
  })
  test('nothing here and no address is a question', async () => {
    expect(await home.run(['doctor'], { cwd: '/' })).toMatchObject({
      code: 2,
      err: expect.stringContaining('COUNTERSIGN_URL'),
    })
  })
})

describe('what is wrong with the installation itself is found', () => {
  test('a webhook that does not take what is sent', { tags: 'long' }, async () => {
    const made = await home.run(['webhooks', 'create', `${await nowhere()}/hook`, '--json'])
    const id = made.json().webhook_id
    await home.run(['revoke-user', 'did:service:ppid_for-the-webhook', '--yes'])
    const failing = async () =>
      (await home.run(['webhooks', 'deliveries', id, '--json'])).json().items[0]?.attempts > 0
    await expect.poll(failing).toBe(true)
    const { code, out } = await home.run(['doctor', '--no-local'])
    expect(code).toBe(3)
    expect(out).toMatch(
      new RegExp(`^FAIL +webhooks +${id} .* deliveries failed, the latest without a response\\.$`, 'm'),
    )
    expect(out).toContain(
      `fix: Fix the receiver. Then list the deliveries and replay those that failed: countersign webhooks deliveries ${id}`,
    )
    await home.run(['webhooks', 'delete', id, '--yes'])
  })
  test('a master key that is not the one of the store', { tags: 'long' }, async () => {
    const { code, out } = await home.run(['doctor'], {
      env: { COUNTERSIGN_MASTER_KEY: 'a1b2'.repeat(16) },
    })
    expect(code).toBe(3)
    expect(out).toMatch(
      /^FAIL +master key +sealed under another master key .*\n +fix: Look for the key of this store/m,
    )
  })
  test('a file that others can read', { tags: 'long' }, async () => {
    chmodSync(home.file('data/dev.json'), 0o644)
    const { code, out } = await home.run(['doctor'])
    chmodSync(home.file('data/dev.json'), 0o600)
    expect(code).toBe(3)
    expect(out).toMatch(/^FAIL +files +.*dev\.json is open to others \(mode 644\)\n +fix: chmod 600 /m)
  })
})
