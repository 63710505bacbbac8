import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkContract } from './contract-check.ts'

const source = new URL('../../cli/src/main.ts', import.meta.url).pathname
const directory = mkdtempSync(join(tmpdir(), 'dev start '))
const dataDir = join(directory, 'data')
afterAll(() => rmSync(directory, { recursive: true, force: true }))

interface Started {
  readonly text: string
  stop(): Promise<number | null>
}

/** Starts the service as a process of its own, and waits for what it prints. */
const start = (data = dataDir, ...flags: string[]): Promise<Started> => startWith({}, data, ...flags)

function startWith(more: NodeJS.ProcessEnv, data: string, ...flags: string[]): Promise<Started> {
  // A machine that has much else to do is not an overloaded service.
  const unhurried = {
    COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '60000',
    COUNTERSIGN_OVERLOAD_ACCEPT_DELAY_MS_MAX: '60000',
  }
  const env = { PATH: process.env.PATH, NO_COLOR: '1', ...unhurried, ...more }
  const child = spawn(
    process.execPath,
    ['--conditions=countersign-source', source, 'dev', '--port', '0', '--data-dir', data, ...flags],
    {
      cwd: directory,
      env,
    },
  )
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  let text = ''
  return new Promise((resolve, reject) => {
    child.stderr.on('data', (data: Buffer) => (text += data))
    child.stdout.on('data', (data: Buffer) => {
      text += data
      if (text.includes('Stop with Ctrl-C')) resolve({ text, stop: () => (child.kill('SIGTERM'), ended) })
    })
    void ended.then((code) => reject(new Error(`ended with ${code}: ${text}`)))
  })
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the commands print.
function paste(command: string): any {
  return JSON.parse(execFileSync('sh', ['-c', command], { cwd: directory, encoding: 'utf8' }))
}
const commandsIn = (text: string) =>
  [...text.matchAll(/^ {2}(curl (?:.+\\\n)*.+)$/gm)].map(([, command]) => String(command))
const devFile = () => JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8'))

describe('the development start', () => {
  let first: Started
  let dev: ReturnType<typeof devFile>
  beforeAll(async () => {
    first = await start()
    dev = devFile()
  })

  test('writes down what tools need', () => {
    expect(Object.keys(dev).sort()).toEqual(
      [
        'base_url',
        'admin_url',
        'site_id',
        'operator_key',
        'site_key',
        'issuer',
        'credential',
        'bound',
        'user_ref',
        'ppid',
        'protected_scope',
        'webhook_loopback',
      ].sort(),
    )
    expect(dev).toMatchObject({
      site_id: 'demo.localhost',
      base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      admin_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      protected_scope: ['orders:read'],
    })
    expect(dev.bound.credential.credentialSubject.holder_key).toMatch(/^did:key:z6Mk/)
  })
  test('lets no other user read its files', () => {
    for (const name of readdirSync(dataDir)) expect(statSync(join(dataDir, name)).mode & 0o077, name).toBe(0)
    expect(statSync(dataDir).mode & 0o077).toBe(0)
  })
  test('prints no secret', () => {
    expect(first.text).not.toMatch(/svc_sk_|svc_at_|"d"/)
  })
  test('prints commands that do what they say', () => {
    const commands = commandsIn(first.text)
    expect(commands).toHaveLength(3)
    const [allowed, revoked, refused] = commands.map(paste)
    expect(allowed).toMatchObject({
      allowed: true,
      subject: { ppid: expect.not.stringContaining(dev.ppid), scope: ['orders:read', 'orders:write'] },
    })
    expect(revoked).toMatchObject({ success: true, revocation_type: 'user' })
    expect(refused).toMatchObject({ status: 401, code: 'credential_revoked' })
  })
  test('answers as the contract says', async () => {
    for (const path of [
      '/healthz',
      '/readyz',
      '/.well-known/countersign',
      '/.well-known/did.json',
      '/openapi.json',
      '/nothing',
    ]) {
      const answer = await fetch(dev.base_url + path)
      checkContract({
        method: 'GET',
        path,
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        text: await answer.text(),
      })
    }
  })
  test('has an admin listener, on a free port when the one that was wished for is taken', {
    tags: 'long',
  }, async () => {
    expect((await fetch(`${dev.admin_url}/readyz`)).status).toBe(200)
    const { port } = new URL(dev.base_url)
    const second = await start(join(directory, 'second'), '--admin-port', port)
    expect(second.text).toMatch(/admin {5}http:\/\/127\.0\.0\.1:\d+/)
    expect(second.text).not.toContain(`:${port} (administration`)
    expect(await second.stop()).toBe(0)
  })
  test('finds another port when the one that it has found is taken before it listens', {
    tags: 'long',
  }, async () => {
    const preload = join(directory, 'taken-once.mjs')
    writeFileSync(
      preload,
      `import { Server } from 'node:http'
       const { listen } = Server.prototype
       Server.prototype.listen = function (options) {
         Server.prototype.listen = listen
         process._rawDebug('taken: ' + options.port)
         const fault = Object.assign(new Error('taken'), { code: 'EADDRINUSE', port: options.port })
         process.nextTick(() => this.emit('error', fault))
         return this
       }`,
    )
    const third = await startWith({ NODE_OPTIONS: `--import "${preload}"` }, join(directory, 'third'))
    const [, taken] = /taken: (\d+)/.exec(third.text) ?? []
    expect(Number(taken)).toBeGreaterThan(0)
    expect(third.text).not.toContain(`127.0.0.1:${taken}`)
    expect(third.text).not.toContain(`localhost:${taken}`)
    expect(await third.stop()).toBe(0)
  })
  test('finds the same data the second time, and gives the demo user access again', {
    tags: 'long',
  }, async () => {
    type Answer = { readonly entries: readonly unknown[] }
    const post = async ({ base_url, site_key, site_id, user_ref }: Record<string, string>, path: string) => {
      const headers = { 'x-api-key': site_key, 'content-type': 'application/json' }
      const body = JSON.stringify({ user_ref, site_id })
      return (await (await fetch(base_url + path, { method: 'POST', headers, body })).json()) as Answer
    }
    // Under both ids: that of credentials and that of access tokens.
    expect((await post(dev, '/api/wallet/revoke-user')).entries).toHaveLength(2)
    expect(await first.stop()).toBe(0)
    const second = await start()
    const again = devFile()
    expect(second.text).toContain('Found the data of an earlier start')
    expect(second.text).toContain('has been reinstated')
    expect(await post(again, '/api/wallet/reinstate-user')).toMatchObject({ already_active: true })
    for (const name of ['operator_key', 'site_key', 'issuer', 'ppid'] as const)
      expect(again[name], name).toBe(dev[name])
    expect(again.bound.holder_private_jwk).toEqual(dev.bound.holder_private_jwk)
    expect(again.credential.id).not.toBe(dev.credential.id)
    expect(paste(commandsIn(second.text)[0] ?? '')).toMatchObject({ allowed: true })
    expect(await second.stop()).toBe(0)
    const third = await start()
    expect(devFile()).toEqual({ ...again, base_url: expect.any(String), admin_url: expect.any(String) })
    expect(third.text).not.toContain('Note:')
    expect(await third.stop()).toBe(0)
  })
  test('rejects invalid settings, all at once', { tags: 'long' }, async () => {
    await expect(start(dataDir, '--host', '0.0.0.0', '--colour', 'red')).rejects.toThrow(
      /ended with 2: These settings are invalid:\n.*\n.*\n/,
    )
  })
})

describe('a development start that cannot use its data', () => {
  const failure = async (data: string) =>
    start(data).then(
      () => 'it started',
      (fault: Error) => fault.message,
    )
  const isRoot = process.getuid?.() === 0

  test('says how to begin again when the store is of another master key', { tags: 'long' }, async () => {
    const data = join(directory, 'other-key')
    const { stop } = await start(data)
    await stop()
    writeFileSync(join(data, 'master.key'), 'a1b2'.repeat(16))
    expect(await failure(data)).toMatch(
      /countersign\.db: sealed under another master key .* To begin again without its data, delete other-key\.\n$/,
    )
  })
  test('names the file that is not a store', { tags: 'long' }, async () => {
    const data = join(directory, 'garbage')
    mkdirSync(data)
    writeFileSync(join(data, 'countersign.db'), 'garbage'.repeat(100), { mode: 0o600 })
    expect(await failure(data)).toMatch(
      /garbage\/countersign\.db is not a store of Countersign\. .* To begin again without its data, delete garbage\.\n$/,
    )
  })
  test.skipIf(isRoot)('says that it cannot create its directory', async () => {
    const closed = join(directory, 'closed')
    mkdirSync(closed, { mode: 0o500 })
    expect(await failure(join(closed, 'data'))).toContain(
      'master.key cannot be created (EACCES). Give this user',
    )
  })
})
