import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rateLimits } from '@countersign/core/contract'
import { afterAll, describe, expect, test } from 'vitest'
import { type Mode, readConfig, settingNames, shownConfig } from '../src/config.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'config-'))
afterAll(() => rmSync(dataDir, { recursive: true }))

const KEY = '0123456789abcdef'.repeat(4)
const good = { COUNTERSIGN_BASE_URL: 'https://id.example', COUNTERSIGN_MASTER_KEY: KEY }
const read = (
  env: Record<string, string> = good,
  flags: [name: string, value: string][] = [],
  files: Record<string, string> = {},
  mode: Mode = 'production',
) =>
  readConfig(mode, {
    flags,
    env: { COUNTERSIGN_DATA_DIR: dataDir, ...env },
    readText: (file) => {
      const text = files[file]
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
      return text
    },
  })
const mistakesOf = (...parameters: Parameters<typeof read>) => {
  try {
    read(...parameters)
    return []
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.replace('  - ', ''))
  }
}

describe('settings', () => {
  test('have defaults that run', () => {
    expect(read()).toMatchObject({
      mode: 'production',
      baseUrl: 'https://id.example',
      host: '127.0.0.1',
      port: 8787,
      adminHost: '127.0.0.1',
      adminPort: 8788,
      store: { kind: 'sqlite', file: join(dataDir, 'countersign.db') },
      protectedSite: undefined,
      trustedProxies: [],
      workers: 1,
      logLevel: 'info',
      viewAgeMsMax: 2000,
      rateLimits,
    })
    expect(Object.isFrozen(read())).toBe(true)
  })
  test('come from the file, then from the environment, then from flags', () => {
    const files = {
      'c.json': '{"port": 1, "host": "10.0.0.1", "log_level": "debug", "protected_scope": ["a:b", "c:d"]}',
    }
    const config = read(
      { ...good, COUNTERSIGN_HOST: '10.0.0.2', COUNTERSIGN_LOG_LEVEL: 'error' },
      [
        ['config', 'c.json'],
        ['log-level', 'warn'],
      ],
      files,
    )
    expect(config).toMatchObject({
      port: 1,
      host: '10.0.0.2',
      logLevel: 'warn',
      protectedScope: ['a:b', 'c:d'],
    })
    expect(read({ ...good, COUNTERSIGN_CONFIG: 'c.json' }, [], files).port).toBe(1)
  })
  test('take secrets from files, and from no command line', () => {
    const files = { '/run/db': 'postgres://u:p@db/x\n' }
    expect(read({ ...good, COUNTERSIGN_DATABASE_URL_FILE: '/run/db' }, [], files).store).toEqual({
      kind: 'postgres',
      url: 'postgres://u:p@db/x',
    })
    const [mistake = ''] = mistakesOf(good, [['database-url', 'postgres://u:canary@db/x']])
    expect(mistake).toContain('COUNTERSIGN_DATABASE_URL')
    expect(mistake).not.toContain('canary')
    expect(
      mistakesOf(
        { ...good, COUNTERSIGN_DATABASE_URL: 'sqlite:x', COUNTERSIGN_DATABASE_URL_FILE: '/run/db' },
        [],
        files,
      ),
    ).toHaveLength(1)
  })
  test.each([
    ['port', 'x'],
    ['port', '65536'],
    ['port', '-1'],
    ['base_url', 'id.example'],
    ['base_url', 'https://id.example/path'],
    ['base_url', 'ftp://id.example'],
    ['base_url', 'https://user@id.example'],
    ['base_url', 'http://id.example'],
    ['host', 'a b'],
    ['admin_port', 'maybe'],
    ['admin_host', 'a b'],
    ['database_url', 'mysql://x'],
    ['protected_site', 'Shop.Example'],
    ['protected_scope', 'Orders'],
    ['trusted_proxies', 'proxy.example'],
    ['workers', '0'],
    ['workers', '2'],
    ['log_level', 'loud'],
    ['view_age_ms_max', '1'],
    ['rate_limit_keyless', '600'],
    ['rate_limit_key', '0/10'],
    ['overload_in_flight_max', '0'],
    ['master_key', 'short'],
    ['credentials_kept_days', '0'],
    ['audit_kept_days', 'some'],
    ['audit_kept_days', '400'],
    ['audit_archive_dir', ''],
    ['receipts_kept_days', '0'],
    ['drill_every_hours', '0'],
    ['console_url', 'https://console.example/x'],
    ['console_url', 'http://console.example'],
    ['console_oidc_issuer', 'http://idp.example'],
    ['console_oidc_issuer', 'https://idp.example?a=b'],
    ['console_oidc_issuer', 'https://user@idp.example'],
    ['console_oidc_roles', ''],
    ['console_oidc_roles', 'ops'],
    ['console_oidc_roles', 'ops=all:admin'],
    ['console_oidc_roles', 'ops=shop.example:operator'],
    ['console_oidc_roles', 'ops=Shop:viewer'],
    ['console_oidc_roles', 'ops=shop.example:viewer %zz=shop.example:viewer'],
    ['console_oidc_scope', 'profile'],
  ])('refuse %s=%s and name it', (name, value) => {
    const mistakes = mistakesOf({ ...good, [`COUNTERSIGN_${name.toUpperCase()}`]: value })
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).toContain(name)
  })
  test('refuse workers that would each have another port', () => {
    const env = {
      ...good,
      COUNTERSIGN_WORKERS: '2',
      COUNTERSIGN_PORT: '0',
      COUNTERSIGN_DATABASE_URL: 'postgres://db/x',
    }
    expect(mistakesOf(env)).toEqual([expect.stringContaining('0 would give each another one')])
    expect(mistakesOf({ ...env, COUNTERSIGN_PORT: '8787' })).toEqual([])
  })
  test('refuse an admin port that leaves no room for every worker', () => {
    const env = {
      ...good,
      COUNTERSIGN_WORKERS: '3',
      COUNTERSIGN_DATABASE_URL: 'postgres://db/x',
      COUNTERSIGN_ADMIN_PORT: '65534',
    }
    expect(mistakesOf(env)).toEqual(['admin_port must leave room for 3 ports, one for each worker'])
    expect(mistakesOf({ ...env, COUNTERSIGN_ADMIN_PORT: '65533' })).toEqual([])
  })
  test('report all mistakes together', () => {
    const mistakes = mistakesOf(
      { ...good, COUNTERSIGN_PORT: 'x', COUNTERSIGN_COLOUR: 'red' },
      [
        ['nonsense', '1'],
        ['host', 'a'],
        ['host', 'b'],
      ],
      {},
    )
    expect(mistakes).toHaveLength(4)
    for (const words of [
      'port must be',
      'COUNTERSIGN_COLOUR is not a setting',
      '--nonsense is not a setting',
      '--host is given twice',
    ]) {
      expect(mistakes.join('\n')).toContain(words)
    }
  })
  test.each([
    ['{"colour":"red"}', 'a member colour'],
    ['{"port":{}}', 'port in the configuration file'],
  ])('refuse a file that holds %s', (text, words) => {
    expect(mistakesOf(good, [['config', 'c']], { c: text }).join()).toContain(words)
  })
  test.each([
    ['[]', 'must contain one JSON object.'],
    ['{', 'is not valid JSON: a member name is missing (line 1).'],
    [
      `{\n  "master_key": "${KEY}"\n  "port": 1\n}`,
      'is not valid JSON: a comma or a closing brace is missing (line 3).',
    ],
    ['{"port":1,"port":2}', 'is not valid JSON: two members have the same name (line 1).'],
  ])('name the line in a file that holds %s, and nothing that only follows from it', (text, words) => {
    expect(() => read({}, [['config', 'c.json']], { 'c.json': text })).toThrow(
      new TypeError(`The configuration file c.json ${words}`),
    )
  })
  test('say when a file cannot be read', () => {
    expect(() => read({}, [['config', 'nowhere']])).toThrow(
      new TypeError('The configuration file nowhere cannot be read (ENOENT). Check its path.'),
    )
    expect(mistakesOf({ ...good, COUNTERSIGN_DATABASE_URL_FILE: '/nowhere' }).join()).toContain(
      'COUNTERSIGN_DATABASE_URL_FILE',
    )
  })
  test('change paces', () => {
    const config = read({ ...good, COUNTERSIGN_RATE_LIMIT_KEYLESS: '5/60' })
    expect(config.rateLimits.keyless).toEqual({ ...rateLimits.keyless, requests: 5, window_seconds: 60 })
    expect(config.rateLimits.key).toEqual(rateLimits.key)
  })
  test('put the admin port after the main port, or on a free one, or nowhere', () => {
    expect(read({ ...good, COUNTERSIGN_PORT: '9000' }).adminPort).toBe(9001)
    expect(read({ ...good, COUNTERSIGN_PORT: '0' }).adminPort).toBe(0)
    expect(read({ ...good, COUNTERSIGN_ADMIN_PORT: 'off' }).adminPort).toBeUndefined()
  })
  test('keep audit rows permanently, unless they name a number of days and a directory or off', () => {
    const days = (count: number) => count * 86_400_000
    expect(read().retention).toEqual({
      credentialsKeptMs: days(30),
      auditKeptMs: undefined,
      auditArchiveDir: undefined,
      receiptsKeptMs: 396 * 86_400_000,
    })
    const env = { ...good, COUNTERSIGN_AUDIT_KEPT_DAYS: '400', COUNTERSIGN_CREDENTIALS_KEPT_DAYS: '1' }
    expect(mistakesOf(env)).toEqual([expect.stringContaining('audit_archive_dir must be set')])
    expect(read({ ...env, COUNTERSIGN_AUDIT_ARCHIVE_DIR: '/srv/archives' }).retention).toMatchObject({
      credentialsKeptMs: days(1),
      auditKeptMs: days(400),
      auditArchiveDir: '/srv/archives',
    })
    expect(read({ ...env, COUNTERSIGN_AUDIT_ARCHIVE_DIR: 'off' }).retention).toMatchObject({
      auditKeptMs: days(400),
      auditArchiveDir: undefined,
    })
  })
  test('of production need an address and a master key', () => {
    const mistakes = mistakesOf({})
    expect(mistakes).toHaveLength(2)
    expect(mistakes.join()).toContain('base_url must be set')
    expect(mistakes.join()).toContain('COUNTERSIGN_MASTER_KEY')
  })
  test('of development stay on loopback', () => {
    expect(mistakesOf({ COUNTERSIGN_HOST: '0.0.0.0' }, [], {}, 'development').join()).toContain(
      'host must be on loopback',
    )
    expect(mistakesOf({ COUNTERSIGN_ADMIN_HOST: '0.0.0.0' }, [], {}, 'development').join()).toContain(
      'admin_host must be on loopback',
    )
    expect(read({}, [], {}, 'development')).toMatchObject({
      baseUrl: 'http://127.0.0.1:8787',
      adminPort: 8788,
    })
  })
  test('are shown without secrets', () => {
    const shown = JSON.stringify(
      shownConfig(read({ ...good, COUNTERSIGN_DATABASE_URL: 'postgres://u:canary@db/x' })),
    )
    expect(shown).not.toMatch(/canary|0123456789abcdef/)
    expect(shown).toContain('"port":8787')
  })
  test('have names that are used once', () => {
    expect(new Set(settingNames).size).toBe(settingNames.length)
  })
})

describe('the identity provider of the console', () => {
  const oidc = {
    COUNTERSIGN_CONSOLE_OIDC_ISSUER: 'https://idp.example/realms/staff',
    COUNTERSIGN_CONSOLE_OIDC_CLIENT_ID: 'console',
    COUNTERSIGN_CONSOLE_OIDC_CLIENT_SECRET_FILE: '/run/oidc',
    COUNTERSIGN_CONSOLE_OIDC_ROLES:
      'ops=all:operator cn=desk,dc=example=shop.example:viewer a%20b=x.example:admin',
  }
  const files = { '/run/oidc': 'canary\n' }

  test('is read with its secret from a file, which is never shown', () => {
    const config = read({ ...good, ...oidc }, [], files)
    expect(config.consoleOidc).toEqual({
      issuer: 'https://idp.example/realms/staff',
      clientId: 'console',
      clientSecret: 'canary',
      clientAuth: 'basic',
      name: 'idp.example',
      scope: 'openid profile',
      groupsClaim: 'groups',
      roles: [
        { group: 'ops', siteId: null, role: 'operator' },
        { group: 'cn=desk,dc=example', siteId: 'shop.example', role: 'viewer' },
        { group: 'a b', siteId: 'x.example', role: 'admin' },
      ],
    })
    expect(JSON.stringify(shownConfig(config))).not.toContain('canary')
    expect(mistakesOf({ ...good, ...oidc }, [['console-oidc-client-secret', 'canary']], files)).toEqual([
      expect.stringContaining('COUNTERSIGN_CONSOLE_OIDC_CLIENT_SECRET'),
    ])
  })

  test('is complete, or not there', () => {
    expect(read().consoleOidc).toBeUndefined()
    for (const name of ['ISSUER', 'CLIENT_ID', 'ROLES']) {
      const { [`COUNTERSIGN_CONSOLE_OIDC_${name}`]: _, ...rest } = oidc as Record<string, string>
      expect(mistakesOf({ ...good, ...rest }, [], files)).toEqual([
        `console_oidc_${name.toLowerCase()} must be set with the other settings of the identity provider`,
      ])
    }
  })
})
