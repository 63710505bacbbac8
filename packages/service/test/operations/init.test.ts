import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { run } from './terminal.ts'

const directory = mkdtempSync(join(tmpdir(), 'init-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const BASE = ['--base-url', 'https://id.example']

describe('init', () => {
  test('prepares a directory from which the service can be served, for its owner only', async () => {
    const place = join(directory, 'first')
    const { code, said } = await run(['init', place, ...BASE, '--port', '9000'], {})
    expect(code).toBe(0)
    expect(said).toContain(`countersign serve --config ${join(place, 'countersign.json')}`)
    expect(JSON.parse(readFileSync(join(place, 'countersign.json'), 'utf8'))).toEqual({
      base_url: 'https://id.example',
      port: '9000',
      data_dir: join(place, 'data'),
    })
    expect(readdirSync(join(place, 'data')).sort()).toEqual([
      'countersign.db',
      'countersign.db.lock',
      'master.key',
    ])
    for (const file of ['countersign.json', 'operator.key', 'data/master.key', 'data/countersign.db', 'data'])
      expect(statSync(join(place, file)).mode & 0o077, file).toBe(0)
    const secret = readFileSync(join(place, 'operator.key'), 'utf8').trim()
    expect(secret).toMatch(/^svc_sk_/)
    expect(said).not.toContain(secret)

    const shown = await run(['config', '--config', join(place, 'countersign.json')], {})
    expect(shown.code).toBe(0)
    expect(JSON.parse(shown.said)).toMatchObject({ base_url: 'https://id.example', port: 9000 })
    const keys = await run(['operator-keys', '--config', join(place, 'countersign.json'), '--json'], {})
    expect(JSON.parse(keys.said)).toMatchObject({ items: [{ last4: secret.slice(-4), label: 'init' }] })
  })
  test('lists what it has made, with aligned columns', async () => {
    const place = join(directory, 'listed')
    const { said } = await run(['init', place, ...BASE], {})
    const columns = said.split('\n').flatMap((line) => /^ {2}\/\S+ +/.exec(line)?.[0].length ?? [])
    expect(columns).toHaveLength(3)
    expect(new Set(columns).size).toBe(1)
  })
  test('refuses a directory that was prepared before, and changes nothing', async () => {
    const place = join(directory, 'twice')
    await run(['init', place, ...BASE], {})
    const before = readFileSync(join(place, 'operator.key'), 'utf8')
    const { code, noted } = await run(['init', place, '--base-url', 'https://other.example'], {})
    expect(code).toBe(2)
    expect(noted).toContain('is there already')
    expect(readFileSync(join(place, 'operator.key'), 'utf8')).toBe(before)
  })
  test('makes nothing when the settings are invalid', async () => {
    const place = join(directory, 'never')
    for (const flags of [
      [],
      ['--base-url', 'http://id.example'],
      [...BASE, '--port', 'x'],
      [...BASE, '--config', 'x.json'],
    ])
      expect((await run(['init', place, ...flags], {})).code).toBe(2)
    expect(existsSync(place)).toBe(false)
  })
  test('takes a master key that is set, and makes none', async () => {
    const place = join(directory, 'own-key')
    const { code } = await run(['init', place, ...BASE], {
      COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4),
    })
    expect(code).toBe(0)
    expect(existsSync(join(place, 'data/master.key'))).toBe(false)
  })
})
