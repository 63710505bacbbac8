import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDevProcess } from '../../../scripts/dev-process.ts'
import { freePort } from '../../service/test/store/postgres-server.ts'
import { countersign, main, runProcess, start } from './countersign.ts'

const directory = mkdtempSync(join(tmpdir(), 'countersign-operator-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const run = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  countersign(argv, { cwd: directory, env })

describe('dev', () => {
  test('is what npm start runs', () => {
    const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'))
    expect(scripts).toMatchObject({
      start: 'node --conditions=countersign-source packages/cli/src/main.ts dev',
      serve: 'node --conditions=countersign-source packages/cli/src/main.ts serve',
      countersign: 'node --conditions=countersign-source packages/cli/src/main.ts',
    })
  })
  test('serves until Ctrl-C, with everything that a first request needs', async () => {
    const dataDir = join(directory, 'dev/data')
    const service = await startDevProcess({
      dataDir,
      command: [process.execPath, '--conditions=countersign-source', main, 'dev'],
    })
    const { code } = await countersign(['present', '/api/protected/action'], { cwd: join(directory, 'dev') })
    expect(code).toBe(0)
    const taken = await runProcess(
      ['dev', '--port', new URL(service.dev.base_url).port, '--data-dir', join(directory, 'other')],
      {
        cwd: directory,
      },
    )
    expect(taken).toMatchObject({ code: 1, err: expect.stringContaining('is taken') })
    expect(await service.stop()).toBe(0)
  })
  test('rejects invalid settings with 2', { tags: 'long' }, async () => {
    expect(await run(['dev', '--host', '0.0.0.0', '--colour', 'red'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--colour is neither an option of this command nor a setting'),
    })
  })
})

// Each of them goes on with what the one before has left.
describe('init, then serve, then administration', { tags: 'long' }, () => {
  const place = join(directory, 'srv')
  const config = ['--config', join(place, 'countersign.json')]
  let port: number
  let url: string
  beforeAll(async () => {
    port = await freePort()
    url = `http://127.0.0.1:${port}`
    const { code, json } = await run([
      'init',
      place,
      '--base-url',
      url,
      '--port',
      String(port),
      '--admin-port',
      'off',
      '--json',
    ])
    expect(code).toBe(0)
    expect(json()).toMatchObject({
      directory: place,
      operator_key_file: join(place, 'operator.key'),
      key_id: expect.any(String),
    })
  })

  test('serves with what init wrote, and the operator key makes a site', async () => {
    const serving = start(['serve', ...config], { cwd: directory })
    await serving.until('"serving"')
    const env = { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY_FILE: join(place, 'operator.key') }
    expect((await run(['sites', 'create', 'shop.example'], env)).code).toBe(0)
    expect(
      (await run(['issue', '--site', 'shop.example', '--user-ref', 'a', '--scope', 'a'], env)).code,
    ).toBe(0)
    const doctor = await run(['doctor', ...config, '--site', 'shop.example'], env)
    expect(doctor.out).toMatch(/^ok +store +SQLite/m)
    expect(doctor.out).toMatch(/^ok +ready/m)
    expect(doctor.code).toBe(0)
    serving.kill('SIGTERM')
    expect((await serving.ended).code).toBe(0)
  })
  test('config shows what would count, without secrets', async () => {
    const { code, json } = await run(['config', ...config, '--json'])
    expect(code).toBe(0)
    expect(json()).toMatchObject({ base_url: url, admin_port: 'off', master_key: '(hidden)' })
    // A value that looks like an option, and like a thumbprint.
    const name = '-'.padEnd(43, 'A')
    const dashed = await run(['config', ...config, '--head-file', name, '--json'])
    expect(dashed.json().head_file).toMatch(new RegExp(`(^|/)${name}$`))
    expect(await run(['config', '--json'])).toMatchObject({ code: 2 })
    expect(JSON.parse((await run(['config', '--json'])).err)).toMatchObject({
      error: { code: 'usage' },
      exit_code: 2,
    })
  })
  test('migrate, audit-log and operator-audit say what they found, for people and for programs', async () => {
    expect(await run(['migrate', ...config])).toMatchObject({
      code: 0,
      out: expect.stringContaining('up to date'),
    })
    expect((await run(['migrate', ...config, '--json'])).json()).toEqual({
      store: 'sqlite',
      epoch: expect.any(String),
    })
    expect((await run(['audit-log', ...config])).out).toMatch(/^The log is intact/)
    expect((await run(['audit-log', ...config, '--json'])).json()).toMatchObject({
      ok: true,
      entries: expect.any(Number),
      sites: 1,
    })
    expect(await run(['audit-log', 'nothing.db'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no file'),
    })
    expect((await run(['operator-audit', ...config, '--json'])).out).toContain('"api_key.create"')
    const { out } = await run(['operator-audit', ...config])
    expect(out).toMatch(/^AT +WHO +ACTION +TARGET\n20\S+Z +operator +\w+\.\w+ /)
    expect(out).not.toContain('{')
  })
  test('a backup is restored after a yes, and rehearsed without', async () => {
    const copy = join(directory, 'monday.db')
    expect((await run(['backup', copy, ...config, '--json'])).json()).toMatchObject({ file: copy, sites: 1 })
    expect((await run(['backup', copy, ...config])).code).toBe(1)
    const asked = await run(['restore', copy, ...config])
    expect([asked.code, asked.err]).toEqual([
      2,
      `This command would replace the store with ${copy} and lose all changes since that backup, so it needs a confirmation. Add --yes to confirm, or --dry-run to see what it would do.\n`,
    ])
    const rehearsed = await run(['restore', copy, ...config, '--dry-run'])
    expect(rehearsed).toMatchObject({
      code: 0,
      out: expect.stringContaining('The backup is intact'),
      err: expect.stringMatching(/The backup lacks nothing.*Nothing was changed/s),
    })
    const done = await run(['restore', copy, ...config, '--yes', '--json'])
    expect(done.code).toBe(0)
    expect(done.json()).toMatchObject({ epoch: expect.any(String), sites: 1, before: expect.any(String) })
    expect(existsSync(done.json().before)).toBe(true)
    expect((await run(['restore', ...config, '--yes'])).code).toBe(2)
  })
  test('operator keys are made, listed and deleted after a yes', async () => {
    const { out: secret } = await run(['create-operator-key', 'second', ...config])
    expect(secret).toMatch(/^svc_sk_/)
    const { items } = (await run(['operator-keys', ...config, '--json'])).json()
    expect(items).toHaveLength(2)
    const { key_id } = items.find(({ label }: { label: string }) => label === 'second')
    expect((await run(['delete-operator-key', key_id, ...config])).code).toBe(2)
    expect((await run(['delete-operator-key', key_id, ...config, '--dry-run'])).out).toContain(
      `Would delete the operator key ${key_id} (second).`,
    )
    expect((await run(['delete-operator-key', key_id, ...config, '--yes', '--json'])).json()).toEqual({
      key_id,
      deleted: true,
    })
    for (const flag of ['--yes', '--dry-run'])
      expect(await run(['delete-operator-key', key_id, ...config, flag])).toMatchObject({
        code: 1,
        err: expect.stringContaining(`There is no operator key ${key_id}. List them:`),
      })
  })
  test('keys of the service are rotated, epochs begun and the time shown', async () => {
    expect((await run(['rotate-issuer-key', ...config, '--json'])).json()).toMatchObject({
      use: 'issuer',
      signs_in_seconds: 60,
    })
    expect((await run(['rotate-feed-key', ...config, '--now', '--json'])).json()).toMatchObject({
      use: 'feed',
      signs_in_seconds: 0,
    })
    expect((await run(['new-epoch', ...config, '--json'])).json()).toMatchObject({
      epoch: expect.any(String),
    })
    const shown = await run(['reset-time', ...config, '--json'])
    expect(shown.code).toBe(0)
    expect(shown.json()).toMatchObject({ changed: false })
    expect((await run(['reset-time', ...config, '--yes', '--json'])).json()).toMatchObject({ changed: true })
    const rotated = await run(['rotate-master-key', ...config, '--json'], {
      COUNTERSIGN_MASTER_KEY_NEW: '0123456789abcdef'.repeat(4),
    })
    expect(rotated.json()).toMatchObject({ texts: expect.any(Number) })
  })
})
