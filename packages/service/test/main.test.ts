import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { makeReadOnly } from './store/read-only.ts'

const source = new URL('../../cli/src/main.ts', import.meta.url).pathname
const directory = mkdtempSync(join(tmpdir(), 'main-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const MASTER_KEY = '0123456789abcdef'.repeat(4)

interface Ended {
  readonly code: number | null
  readonly text: string
}

function run(
  argv: string[],
  env: Record<string, string>,
): { child: ChildProcess; ended: Promise<Ended>; until: (words: string) => Promise<void> } {
  const child = spawn(process.execPath, ['--conditions=countersign-source', source, ...argv], {
    cwd: directory,
    env: { PATH: process.env.PATH ?? '', ...env },
  })
  let text = ''
  const listeners = new Set<() => void>()
  const hear = (data: Buffer) => {
    text += data
    for (const listener of listeners) listener()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, text })))
  const until = (words: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => text.includes(words) && resolve()
      listeners.add(look)
      look()
      void ended.then(() => reject(new Error(text)))
    })
  return { child, ended, until }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address() as { port: number }
      server.close(() => resolve(address.port))
    })
  })
}

describe('the production start', () => {
  test('refuses insecure and missing settings out loud, and makes nothing', { tags: 'long' }, async () => {
    const { code, text } = await run(['serve', '--port', 'x'], { COUNTERSIGN_BASE_URL: 'http://id.example' })
      .ended
    expect(code).toBe(2)
    for (const words of [
      'port must be',
      'base_url must be https',
      'there is no master key',
      'If there is a store already, use its own key: a new key cannot open it.',
    ])
      expect(text).toContain(words)
  })
  test('says which port is taken', { tags: 'long' }, async () => {
    const server = createServer()
    const port = await new Promise<number>((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
    )
    const env = {
      COUNTERSIGN_BASE_URL: 'https://id.example',
      COUNTERSIGN_MASTER_KEY: MASTER_KEY,
      COUNTERSIGN_DATA_DIR: join(directory, 'taken'),
    }
    expect(await run(['migrate'], env).ended).toMatchObject({ code: 0 })
    const { code, text } = await run(['serve', '--port', String(port), '--admin-port', 'off'], env).ended
    server.close()
    expect(code).toBe(1)
    expect(text).toContain(`could not start: port ${port} is taken; choose another`)
  })
  test('names an address that this machine does not have', { tags: 'long' }, async () => {
    const env = {
      COUNTERSIGN_BASE_URL: 'https://id.example',
      COUNTERSIGN_MASTER_KEY: MASTER_KEY,
      COUNTERSIGN_DATA_DIR: join(directory, 'elsewhere'),
    }
    expect(await run(['migrate'], env).ended).toMatchObject({ code: 0 })
    const { code, text } = await run(['serve', '--host', '203.0.113.9', '--port', '0'], env).ended
    expect(code).toBe(1)
    expect(text).toContain(
      'could not start: This machine does not have the address 203.0.113.9. Correct host.',
    )
  })
  test('names a store that is damaged or cannot be written', { tags: 'long' }, async ({ skip }) => {
    const place = join(directory, 'broken')
    const file = join(place, 'countersign.db')
    const env = {
      COUNTERSIGN_BASE_URL: 'https://id.example',
      COUNTERSIGN_MASTER_KEY: MASTER_KEY,
      COUNTERSIGN_DATA_DIR: place,
    }
    const serve = () => run(['serve', '--port', '0'], env).ended
    mkdirSync(place, { mode: 0o700 })
    writeFileSync(file, 'garbage'.repeat(1000), { mode: 0o600 })
    expect(await serve()).toMatchObject({
      code: 1,
      text: expect.stringContaining(
        `could not start: ${file} is not a store of Countersign. Check the path, or restore a backup: countersign restore.`,
      ),
    })
    rmSync(file)
    expect(await run(['migrate'], env).ended).toMatchObject({ code: 0 })
    const undo = makeReadOnly(place)
    if (undo === undefined) return skip()
    onTestFinished(undo)
    expect(await serve()).toMatchObject({
      code: 1,
      text: expect.stringContaining(
        `could not start: The store ${file} cannot be written. Give this user write access to its directory and files.`,
      ),
    })
  })
  test('says how it is used', async () => {
    expect(await run([], {}).ended).toMatchObject({ code: 2, text: expect.stringContaining('serve') })
  })
  test('shows its settings without its secrets', { tags: 'long' }, async () => {
    const { code, text } = await run(['config'], {
      COUNTERSIGN_BASE_URL: 'https://id.example',
      COUNTERSIGN_MASTER_KEY: MASTER_KEY,
    }).ended
    expect(code).toBe(0)
    expect(JSON.parse(text)).toMatchObject({ base_url: 'https://id.example', master_key: '(hidden)' })
    expect(text).not.toContain(MASTER_KEY)
  })
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'ends with 0 at %s while it still starts',
    { tags: 'long' },
    async (signal) => {
      const asked = Promise.withResolvers<void>()
      // A database that accepts the connection and never answers.
      const database = createServer(() => asked.resolve()).listen(0, '127.0.0.1')
      await once(database, 'listening')
      const { port } = database.address() as AddressInfo
      const { child, ended } = run(['serve'], {
        COUNTERSIGN_BASE_URL: 'https://id.example',
        COUNTERSIGN_MASTER_KEY: MASTER_KEY,
        COUNTERSIGN_DATABASE_URL: `postgres://countersign@127.0.0.1:${port}/countersign`,
      })
      await asked.promise
      child.kill(signal)
      expect(await ended).toMatchObject({ code: 0 })
      database.close()
    },
  )
  test('serves, logs in JSON, and stops when told to', async () => {
    const [port, admin] = [await freePort(), await freePort()]
    const env = {
      COUNTERSIGN_BASE_URL: `http://127.0.0.1:${port}`,
      COUNTERSIGN_MASTER_KEY: MASTER_KEY,
      COUNTERSIGN_DATA_DIR: join(directory, 'data'),
    }
    expect(await run(['migrate'], env).ended).toMatchObject({ code: 0 })
    const { child, ended, until } = run(['serve', '--port', String(port), '--admin-port', String(admin)], env)
    await until('"serving"')
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
    expect(await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()).toContain(
      'countersign_requests_total{endpoint="ready",status="200"} 1',
    )
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(404)
    child.kill('SIGTERM')
    const { code, text } = await ended
    expect(code).toBe(0)
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(['serving', 'request', 'stopping', 'stopped']),
    )
    expect(text).not.toContain(MASTER_KEY)
  })
})
