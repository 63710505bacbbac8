import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rateLimits } from '@countersign/core/contract'
import { afterAll, describe, expect, test } from 'vitest'
import { settingNames } from '../src/config/setting-names.ts'
import { shownConfig } from '../src/config/shown-config.ts'
import { type Mode, readConfig } from '../src/config.ts'

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
    expect(mistakesOf(env)).toEqual([expect.stringContaining('each worker would get a different one')])
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
      '--nonsense is neither an option of this command nor a setting',
      '--host is given twice',
    ]) {
      expect(mistakes.join('\n')).toContain(words)
    }
  })
  test('name the setting that a mistyped one probably means', () => {
    const env = { ...good, COUNTERSIGN_DATABSE_URL: 'x', COUNTERSIGN_DATABASE_URL_FIEL: 'y' }
    expect(mistakesOf(env, [['admin-prot', '1']])).toEqual([
      'COUNTERSIGN_DATABSE_URL is not a setting; did you mean COUNTERSIGN_DATABASE_URL?',
      'COUNTERSIGN_DATABASE_URL_FIEL is not a setting; did you mean COUNTERSIGN_DATABASE_URL_FILE?',
      '--admin-prot is neither an option of this command nor a setting; did you mean --admin-port?',
    ])
    const [inFile] = mistakesOf(good, [['config', 'c']], { c: '{"log_levels":"info"}' })
    expect(inFile).toBe(
      'the configuration file has a member log_levels, which is not a setting; did you mean log_level?',
    )
    expect(mistakesOf({ ...good, COUNTERSIGN_QA: '1' }), 'far from every name').toEqual([
      'COUNTERSIGN_QA is not a setting',
    ])
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
    expect(shown).toContain('"database_url":"(hidden)"')
    expect(shown).toContain('"master_key":"(hidden)"')
  })
  test('are shown by name and in the units of the settings', () => {
    expect(shownConfig(read())).toMatchObject({
      base_url: 'https://id.example',
      admin_port: 8788,
      console: 'on',
      data_dir: dataDir,
      database_url: `sqlite:${join(dataDir, 'countersign.db')}`,
      head_file: join(dataDir, 'countersign.heads'),
      issuer_keys_hours_max: 24,
      log_kept_days: 396,
      rate_limit_keyless: '600/10',
      audit_kept_days: 'all',
      drill_every_hours: 'off',
    })
    expect(Object.keys(shownConfig(read())).filter((name) => !settingNames.includes(name as never))).toEqual(
      [],
    )
  })
  test('have names that are used once', () => {
    expect(new Set(settingNames).size).toBe(settingNames.length)
  })
})

describe('shown settings, put into a configuration file', () => {
  /** Another value than the default for every setting that is not a secret. */
  const others: Readonly<Record<string, string | readonly string[]>> = {
    base_url: 'https://other.example',
    host: '0.0.0.0',
    port: '9000',
    admin_host: '::1',
    admin_port: 'off',
    console: 'off',
    console_url: 'https://console.example',
    console_oidc_issuer: 'https://idp.example/realms/staff',
    console_oidc_client_id: 'console',
    console_oidc_client_auth: 'post',
    console_oidc_name: 'Our staff',
    console_oidc_scope: 'openid groups',
    console_oidc_groups_claim: 'roles',
    console_oidc_roles: ['cn=desk,dc=example=all:operator', 'a%20b%25=shop.example:viewer'],
    data_dir: '/srv/countersign',
    database_url: 'sqlite:/srv/other.db',
    head_file: 'off',
    protected_site: 'shop.example',
    protected_scope: ['orders:read', 'orders:write'],
    trusted_proxies: ['10.0.0.0/8', '127.0.0.1'],
    workers: '1',
    log_level: 'debug',
    view_age_ms_max: '3000',
    issuer_keys_hours_max: '48',
    log_kept_days: '400',
    overload_event_loop_delay_ms_max: '200',
    overload_accept_delay_ms_max: '300',
    overload_in_flight_max: '2000',
    ...Object.fromEntries(Object.keys(rateLimits).map((name, i) => [`rate_limit_${name}`, `${70 + i}/7`])),
    open_sign_ins_max: '500',
    credentials_kept_days: '31',
    audit_kept_days: '32',
    audit_archive_dir: '/srv/archives',
    receipts_kept_days: '33',
    drill_every_hours: '34',
  }
  const secrets = ['console_oidc_client_secret', 'master_key', 'master_key_file']
  const readFile = (members: object) =>
    readConfig('production', {
      flags: [['config', 'settings.json']],
      env: { COUNTERSIGN_MASTER_KEY: KEY },
      readText: () => JSON.stringify(members),
    })
  /** What `countersign config` shows, without secrets. */
  const withoutSecrets = (config: ReturnType<typeof readConfig>) =>
    Object.fromEntries(Object.entries(shownConfig(config)).filter(([, value]) => value !== '(hidden)'))

  test('give the same settings again, for every setting that is not a secret', () => {
    expect(Object.keys(others).toSorted()).toEqual(
      settingNames.filter((name) => !secrets.includes(name)).toSorted(),
    )
    const config = readFile(others)
    const shown = withoutSecrets(config)
    expect(Object.keys(shown).toSorted()).toEqual(Object.keys(others).toSorted())
    expect(readFile(shown)).toEqual(config)
    // Each of them, and not only all together.
    for (const [name, value] of Object.entries(others))
      expect(String(shown[name as keyof typeof shown]), name).toBe(String(value))
  })
  test('give the same settings again for the defaults', () => {
    const config = readFile({ base_url: 'https://id.example' })
    expect(readFile(withoutSecrets(config))).toEqual(config)
  })
  test('cannot be used with what is hidden: that is a mistake, and never a secret', () => {
    expect(() =>
      readConfig('production', {
        flags: [['config', 'settings.json']],
        env: {},
        readText: () => JSON.stringify(shownConfig(readFile({ base_url: 'https://id.example' }))),
      }),
    ).toThrow(/master_key: .* must hold 32 random bytes/)
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
