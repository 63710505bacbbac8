import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPng } from '../../service/test/brand/pictures.ts'
import { newJwk } from '../../service/test/jwks.ts'
import { openKeySetServer } from '../../service/test/key-set-server.ts'
import { program, start } from './countersign.ts'
import { expectAnswer, type Home, openHome } from './home.ts'

let home: Home
beforeAll(async () => {
  home = await openHome()
})
afterAll(() => home?.close())

describe('sites', () => {
  test('are created with the operator key, listed, shown and changed', { tags: 'long' }, async () => {
    const argv = [
      'sites',
      'create',
      'shop.example',
      '--name',
      'Shop',
      '--return-urls',
      'https://shop.example/back',
      '--json',
    ]
    const created = await home.run(argv)
    expect(created.code).toBe(0)
    expect(created.err).toContain('operator key')
    expectAnswer('create_site', created.json())
    const { out, code } = await home.run(['sites', 'list'])
    expect(code).toBe(0)
    expect(out).toMatch(/^SITE +NAME +BEARER +HOLDER PROOF +CREATED$/m)
    expect(out).toMatch(/^shop\.example +Shop +on +optional +20/m)
    const asJson = await home.run(['sites', 'list', '--json'])
    expectAnswer('list_sites', asJson.json())
    expect(asJson.json().items).toHaveLength(2)
    const shown = await home.run(['sites', 'show', 'shop.example'])
    expect(shown).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^return_urls +https:\/\/shop\.example\/back$/m),
    })
    const changed = await home.run([
      'sites',
      'change',
      'shop.example',
      '--site',
      'shop.example',
      '--clear',
      'name',
      '--credential-ttl-seconds-max',
      '86400',
      '--hosts',
      'shop.example',
      '--hosts',
      'api.shop.example:8443',
      '--json',
    ])
    expect(changed.code).toBe(0)
    const hosts = ['shop.example', 'api.shop.example:8443']
    expect(changed.json()).toMatchObject({ name: null, credential_ttl_seconds_max: 86_400, hosts })
    const cleared = await home.run([
      'sites',
      'change',
      'shop.example',
      '--site',
      'shop.example',
      '--clear',
      'hosts',
      '--json',
    ])
    expect(cleared.json()).toMatchObject({ hosts: null })
  })
  test('have a look of their own, with a logo that the service fetches', { tags: 'long' }, async () => {
    let logo = createPng()
    const server = createServer((_request, answer) => answer.end(logo)).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const logoUrl = `http://localhost:${(server.address() as AddressInfo).port}/logo.png`
    const change = (...argv: string[]) => home.run(['sites', 'change', ...argv, '--json'])
    try {
      const changed = await change('--logo-url', logoUrl, '--accent', '#1f4fd8')
      expect(changed.code).toBe(0)
      expectAnswer('change_site', changed.json())
      expect(changed.json()).toMatchObject({ logo_url: logoUrl, accent: '#1f4fd8' })
      logo = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')
      const create = (...argv: string[]) => home.run(['sites', 'create', ...argv, '--json'])
      const look = ['--accent', '#1f4fd8', '--privacy-url', 'https://shop.example/p']
      const created = await create('looks.example', ...look)
      expectAnswer('create_site', created.json())
      expect(created.json()).toMatchObject({ accent: '#1f4fd8', privacy_url: 'https://shop.example/p' })
      const other = await create('other.example', '--logo-url', logoUrl)
      expect(other).toMatchObject({ code: 1, err: expect.stringContaining('logo_rejected') })
      const rejected = await change('--logo-url', logoUrl)
      expect(rejected).toMatchObject({ code: 1, err: expect.stringContaining('logo_rejected') })
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    const links = ['--support-url', 'mailto:help@shop.example', '--privacy-url', 'https://shop.example/p']
    expect((await change(...links)).json()).toMatchObject({
      support_url: 'mailto:help@shop.example',
      privacy_url: 'https://shop.example/p',
    })
    const members = ['logo_url', 'accent', 'support-url', 'privacy_url']
    const cleared = await change(...members.flatMap((member) => ['--clear', member]))
    expect(cleared.json()).toMatchObject({
      logo_url: null,
      logo_path: null,
      accent: null,
      support_url: null,
      privacy_url: null,
    })
  })
  test('ask before they take access away', async () => {
    const argv = ['sites', 'change', '--bearer', 'off', '--holder-proof', 'required']
    const refused = await home.run(argv)
    expect(refused.err).toContain('at demo.localhost, so it needs a confirmation. Add --yes to confirm')
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'end all bearer tokens and reject bearer tokens and credentials without a holder key',
      ),
    })
    const rehearsed = await home.run([...argv, '--dry-run', '--json'])
    expect(rehearsed.json()).toMatchObject({
      dry_run: true,
      site_id: 'demo.localhost',
      bearer: 'off',
      holder_proof: 'required',
    })
    expect((await home.run(['sites', 'show', '--json'])).json()).toMatchObject({ bearer: 'on' })
    const done = await home.run([...argv, '--yes', '--json'])
    expectAnswer('change_site', done.json())
    expect(done.json()).toMatchObject({ bearer: 'off', holder_proof: 'required' })
    expect((await home.run(['sites', 'change', '--holder-proof', 'optional'])).code).toBe(0)
    expect((await home.run(['exchange'])).err).toContain('bearer_disabled')
    expect((await home.run(['sites', 'change', '--bearer', 'on'])).code).toBe(0)
    const off = ['sites', 'change', '--delegation', 'off', '--reason', 'breach', '--wait', '5', '--yes']
    const switched = await home.run(off)
    expect(switched.code).toBe(0)
    expect(switched.out).toMatch(/^delegation +off$/m)
    expect(switched.out).toMatch(/^applied by +no verifier is connected$/m)
    expect((await home.run(['sites', 'change', '--delegation', 'on'])).code).toBe(0)
  })
  test.each([
    [['sites'], 'Missing command.'],
    [['sites', 'paint'], 'unknown command'],
    [['sites', 'create'], "argument 'site_id'"],
    [['sites', 'change'], 'Nothing to change'],
    [['sites', 'change', '--bearer', 'maybe'], '--bearer must be on or off'],
    [['sites', 'change', '--clear', 'bearer'], '--clear takes'],
    [['sites', 'list', '--limit', '0'], '--limit must be'],
    [['sites', 'list', '--colour'], 'unknown option'],
    [['sites', 'list', 'stray'], 'too many arguments'],
  ])('refuse %j', async (argv, words) => {
    const { code, out, err } = await home.run(argv)
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err.toLowerCase()).toContain(words.toLowerCase())
  })
  test('say that there is one already, or none', async () => {
    const { code, err } = await home.run(['sites', 'create', 'demo.localhost'])
    expect(code).toBe(1)
    expect(err).toContain('The site demo.localhost already exists. (already_exists)')
    expect(err).toContain('countersign sites change <site_id>')
    expect(err).not.toContain('PATCH')
    expect(await home.run(['sites', 'show', 'unknown.example', '--site', 'unknown.example'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('not_found'),
    })
  })
})

describe('issuers', () => {
  test('are added with a cap, shown with their keys, and distrusted after a yes', async () => {
    const { out: did } = await home.run(['keygen', 'issuer.jwk'])
    const issuer = did.trim()
    const added = await home.run([
      'issuers',
      'add',
      issuer,
      '--scope',
      'orders:read',
      '--label',
      'test',
      '--json',
    ])
    expect(added.code).toBe(0)
    expectAnswer('add_issuer', added.json())
    expect(await home.run(['issuers', 'add', issuer])).toMatchObject({
      code: 1,
      err: expect.stringContaining('already_exists'),
    })
    const listed = await home.run(['issuers', 'list'])
    expect(listed.out).toMatch(
      new RegExp(`^${issuer} +trusted +1 +orders:read +test +credential +iss_[0-9a-f]+$`, 'm'),
    )
    expectAnswer('list_issuers', (await home.run(['issuers', 'list', '--json'])).json())
    const shown = await home.run(['issuers', 'show', issuer])
    expect(shown.out).toMatch(/^KEY +STATUS +RETIRED +MULTIKEY$/m)
    expect(await home.run(['issuers', 'show', 'did:web:unknown.example'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('(not_found)'),
    })

    expect(
      (
        await home.run(['issuers', 'change', issuer, '--clear', 'scope', '--label', 'other', '--json'])
      ).json(),
    ).toMatchObject({
      scope: null,
      label: 'other',
    })
    expect((await home.run(['issuers', 'change', issuer, '--scope', 'orders:read'])).code).toBe(2)
    expect((await home.run(['issuers', 'change', issuer, '--status', 'distrusted'])).code).toBe(2)
    expect(
      (await home.run(['issuers', 'change', issuer, '--status', 'distrusted', '--dry-run'])).out,
    ).toContain(`Would distrust ${issuer}`)
    const changed = await home.run(['issuers', 'change', issuer, '--status', 'distrusted', '--yes', '--json'])
    expectAnswer('change_issuer', changed.json())
    expect(changed.json()).toMatchObject({ status: 'distrusted' })
  })
  test('of access tokens are added, shown, changed and distrusted by their URL', async () => {
    const server = await openKeySetServer('', [newJwk('EC', { kid: 'k1' })])
    const body = { issuer: server.issuer, jwks_uri: `${server.url}/keys` }
    server.answers.set('/.well-known/openid-configuration', { body })
    try {
      const added = await home.run([
        ...['issuers', 'add', '--oauth', server.issuer, '--audience', 'api', '--scope', 'orders:read'],
        ...['--scope-map', 'read=orders:read', '--required-claim', 'typ=Bearer', '--any-token-type'],
        ...['--session-claim', 'sid', '--user-ref-from-subject', '--json'],
      ])
      expect(added.code).toBe(0)
      expectAnswer('add_issuer', added.json())
      expect(added.json()).toMatchObject({
        type: 'oauth',
        key_source: 'discovery',
        keys: [{ kid: 'k1' }],
        scope_map: { read: ['orders:read'] },
        required_claims: { typ: 'Bearer' },
        require_at_jwt: false,
        session_claim: 'sid',
        user_ref_from_subject: true,
      })
      const shown = await home.run(['issuers', 'show', server.issuer])
      expect(shown.out).toMatch(/^KEY +KID +STATUS +RETIRED$/m)
      expect(shown.out).toContain('k1')
      const changed = await home.run(['issuers', 'change', server.issuer, '--label', 'idp', '--json'])
      expect(changed.json()).toMatchObject({ label: 'idp' })
      const claim = ['issuers', 'change', server.issuer, '--subject-claim', 'oid', '--json']
      expect(await home.run(claim)).toMatchObject({
        code: 1,
        err: expect.stringContaining('confirm_new_ids'),
      })
      expect((await home.run([...claim, '--confirm-new-ids'])).json()).toMatchObject({ subject_claim: 'oid' })
      const nothing = await home.run(['issuers', 'change', server.issuer, '--confirm-new-ids'])
      expect(nothing).toMatchObject({ code: 2, err: expect.stringContaining('Nothing to change') })
      const [{ id }] = (added.json() as { keys: [{ id: string }] }).keys
      const retire = ['issuers', 'change-key', server.issuer, id, '--status', 'retired', '--yes', '--json']
      expect((await home.run(retire)).json()).toMatchObject({ keys: [{ status: 'retired' }] })
      const end = ['issuers', 'change', server.issuer, '--status', 'distrusted', '--yes', '--json']
      expect((await home.run(end)).json()).toMatchObject({ status: 'distrusted' })
    } finally {
      await server.close()
    }
  })
  test.each([
    [['https://idp.example', '--audience', 'api'], '--oauth goes with'],
    [['--oauth', 'did:web:idp.example'], '--oauth goes with'],
    [['did:web:idp.example', '--audience', 'api'], 'only OAuth issuers'],
    [['--oauth', 'https://idp.example'], 'needs --audience'],
    [
      ['--oauth', 'https://idp.example', '--audience', 'api', '--keys', 'z6Mk'],
      'only issuers of credentials',
    ],
    [['--oauth', 'https://idp.example', '--audience', 'api', '--scope-map', 'read'], 'name=value'],
    [['--oauth', 'https://idp.example', '--audience', 'api', '--jwks', '/nowhere'], 'cannot be read'],
  ])('a wrong command is a usage error: issuers add %j', async (argv, words) => {
    const { code, err } = await home.run(['issuers', 'add', ...argv])
    expect(code).toBe(2)
    expect(err).toContain(words)
  })
  test('their keys are retired, reactivated and marked as compromised', async () => {
    const { out: did } = await home.run(['keygen', 'keyed.jwk'])
    const issuer = did.trim()
    const key = issuer.slice('did:key:'.length)
    await home.run(['issuers', 'add', issuer])
    const change = (...flags: string[]) => home.run(['issuers', 'change-key', issuer, key, ...flags])
    expect((await change()).code).toBe(2)
    expect((await change('--status', 'retired')).code).toBe(2)
    expect((await change('--status', 'retired', '--dry-run')).code).toBe(0)
    expect((await change('--status', 'retired', '--yes', '--json')).json().keys[0]).toMatchObject({
      status: 'retired',
    })
    expect((await change('--status', 'active', '--json')).json().keys[0]).toMatchObject({ status: 'active' })
    const compromised = await change('--status', 'compromised', '--yes', '--json')
    expectAnswer('change_issuer_key', compromised.json())
    expect((await change('--status', 'active')).code).toBe(1)
  })
})

describe('keys', () => {
  test('are shown once, written where only their owner reads them, listed without the secret, and deleted after a yes', async () => {
    const printed = await home.run([
      'keys',
      'create',
      '--permissions',
      'tokens:introspect,feed:read',
      '--label',
      'guard',
    ])
    expect(printed.code).toBe(0)
    expect(printed.out).toMatch(/^svc_sk_\w{49}\n$/)
    expect(printed.err).not.toContain(printed.out.trim())
    expectAnswer(
      'create_key',
      (
        await home.run([
          'keys',
          'create',
          '--permissions',
          'feed:read',
          '--expires-in-seconds',
          '60',
          '--json',
        ])
      ).json(),
    )
    const written = await home.run([
      'keys',
      'create',
      '--permissions',
      'feed:read',
      '--out',
      'feed.key',
      '--json',
    ])
    expect(written.json()).toMatchObject({ file: 'feed.key', permissions: ['feed:read'] })
    expect(written.json()).not.toHaveProperty('api_key')
    expect(statSync(home.file('feed.key')).mode & 0o777).toBe(0o600)
    expect(readFileSync(home.file('feed.key'), 'utf8')).toMatch(/^svc_sk_\w{49}\n$/)
    const keyId = written.json().key_id

    const listed = await home.run(['keys', 'list'])
    expect(listed.out).toMatch(/^KEY +ENDS WITH +PERMISSIONS +LABEL +CREATED +EXPIRES +LAST USED$/m)
    expect(listed.out).toContain('tokens:introspect feed:read')
    expectAnswer('list_keys', (await home.run(['keys', 'list', '--json'])).json())
    expect((await home.run(['keys', 'show', keyId])).out).toMatch(/^permissions +feed:read$/m)
    expect((await home.run(['keys', 'show', 'key_none'])).code).toBe(1)

    const renamed = await home.run(['keys', 'rename', keyId, 'guard 2', '--reason', 'moved', '--json'])
    expectAnswer('change_key', renamed.json())
    expect(renamed.json()).toMatchObject({ key_id: keyId, label: 'guard 2', permissions: ['feed:read'] })
    expect((await home.run(['keys', 'rename', keyId, '--json'])).json().label).toBeNull()
    expect((await home.run(['keys', 'rename', 'key_none', 'x'])).code).toBe(1)

    expect((await home.run(['keys', 'delete', keyId])).code).toBe(2)
    expect((await home.run(['keys', 'delete', keyId, '--dry-run'])).out).toContain(
      `Would delete the key ${keyId}`,
    )
    expect(
      (await home.run(['keys', 'delete', keyId, '--yes', '--reason', 'Zoë: 100 %', '--json'])).json(),
    ).toEqual({
      key_id: keyId,
      deleted: true,
    })
    const audit = (await home.run(['audit', '--limit', '1', '--json'])).json()
    expect(audit.items[0]).toMatchObject({ action: 'api_key.delete', reason: 'Zoë: 100 %' })
    expect((await home.run(['keys', 'delete', keyId, '--yes'])).code).toBe(1)
    expect((await home.run(['sites', 'show', '--api-key-file', 'feed.key'])).code).toBe(4)
    expect((await home.run(['keys', 'create'])).code).toBe(2)
  })
})

describe('operator keys over HTTP', () => {
  test('are created, listed, renamed and deleted while the service runs', async () => {
    const printed = await home.run(['keys', 'create', '--operator', '--label', 'second', '--json'])
    expectAnswer('create_operator_key', printed.json())
    const { key_id: id } = printed.json()
    const list = await home.run(['keys', 'list', '--operator', '--json'])
    expectAnswer('list_operator_keys', list.json())
    expect(list.json().items).toContainEqual(expect.objectContaining({ key_id: id, label: 'second' }))
    expect((await home.run(['keys', 'list', '--operator'])).out).toMatch(
      /^KEY +ENDS WITH +LABEL +CREATED +EXPIRES +LAST USED$/m,
    )
    expect((await home.run(['keys', 'show', id, '--operator'])).out).toMatch(/^created_by +operator key_/m)
    expect((await home.run(['keys', 'rename', id, 'third', '--operator', '--json'])).json().label).toBe(
      'third',
    )
    const dry = await home.run(['keys', 'delete', id, '--operator', '--dry-run'])
    expect(dry.out).toContain(`Would delete the operator key ${id}`)
    expect((await home.run(['keys', 'delete', id, '--operator', '--yes'])).code).toBe(0)
    const permitted = ['keys', 'create', '--operator', '--permissions', 'feed:read']
    expect((await home.run(permitted)).code).toBe(2)
  })
  test('need no label', async () => {
    const { code, json } = await home.run(['keys', 'create', '--operator', '--json'])
    expect(code).toBe(0)
    expectAnswer('create_operator_key', json())
    expect((await home.run(['keys', 'delete', json().key_id, '--operator', '--yes'])).code).toBe(0)
  })
  test('the key that makes the call stays', async () => {
    const { items } = (await home.run(['keys', 'list', '--operator', '--json'])).json()
    const own = items.find(({ last4 }: { last4: string }) => home.dev.operator_key.endsWith(last4))
    const { code, err } = await home.run(['keys', 'delete', own.key_id, '--operator', '--yes'])
    expect([code, err.includes('key_in_use')]).toEqual([1, true])
  })
})

describe('the file of --out', () => {
  const url = 'https://hooks.example/out'
  const countAll = async () =>
    Promise.all(
      [['keys', 'list'], ['keys', 'list', '--operator'], ['webhooks', 'list'], ['credentials']].map(
        async (argv) => (await home.run([...argv, '--limit', '200', '--json'])).json().items.length,
      ),
    )
  let webhookId: string
  beforeAll(async () => {
    webhookId = (await home.run(['webhooks', 'create', url, '--json'])).json().webhook_id
    writeFileSync(home.file('taken.key'), 'mine')
    mkdirSync(home.file('folder'))
    symlinkSync(home.file('absent'), home.file('dangling.key'))
  })

  const commands = [
    ['keys', 'create', '--operator', '--label', 'two'],
    ['keys', 'create', '--permissions', 'feed:read'],
    ['webhooks', 'create', url],
    ['webhooks', 'rotate-secret'],
    ['issue', '--user-ref', 'out', '--scope', 'orders:read'],
  ]
  test.each(
    commands.flatMap((argv) =>
      [
        ['taken.key', 'taken.key exists already, so nothing was created. Choose another name.'],
        ['dangling.key', 'dangling.key exists already, so nothing was created.'],
        ['folder', 'folder is a directory, so nothing was created. Give the name of a new file.'],
        ['new-folder/', 'new-folder/ is a directory, so nothing was created.'],
        [
          'nowhere/x.key',
          'The directory nowhere does not exist, so nothing was created. Create it, or choose another name.',
        ],
        ['taken.key/x', 'taken.key/x cannot be written (ENOTDIR), so nothing was created.'],
        ['', 'The name of the file is empty, so nothing was created. Give a name.'],
      ].map(([file = '', words = '']) => ({ argv, file, words, name: argv.slice(0, 2).join(' ') })),
    ),
  )('is opened before $name: $file', async ({ argv, file, words }) => {
    const before = await countAll()
    const own = argv[1] === 'rotate-secret' ? [webhookId] : []
    const { code, out, err } = await home.run([...argv, ...own, '--out', file])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(words)
    expect(await countAll()).toEqual(before)
    expect(readFileSync(home.file('taken.key'), 'utf8')).toBe('mine')
    const { items } = (await home.run(['audit', '--limit', '50', '--json'])).json()
    expect(items.map(({ action }: { action: string }) => action)).not.toContain('webhook.rotate_secret')
  })
  test.each([
    { argv: ['keys', 'create', '--permissions', 'no:such'], code: 1 },
    { argv: ['keys', 'create', '--operator', '--permissions', 'feed:read'], code: 2 },
    { argv: ['webhooks', 'create', 'ftp://x'], code: 1 },
    { argv: ['webhooks', 'rotate-secret', 'wh_00000000'], code: 1 },
    { argv: ['issue', '--user-ref', 'x', '--scope', 'NOT A SCOPE'], code: 1 },
    { argv: ['issue', '--scope', 'orders:read'], code: 2 },
  ])('is removed when the command fails: $argv', async ({ argv, code }) => {
    expect((await home.run([...argv, '--out', 'failed.key'])).code).toBe(code)
    expect(existsSync(home.file('failed.key'))).toBe(false)
  })
  test.each(['SIGINT', 'SIGTERM'] as const)('is removed when %s ends the command', async (signal) => {
    const asked = Promise.withResolvers<void>()
    // It never answers.
    const server = createServer(() => asked.resolve()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const argv = ['keys', 'create', '--permissions', 'feed:read', '--out', 'interrupted.key']
    const running = start(argv, {
      cwd: home.directory,
      env: {
        COUNTERSIGN_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        COUNTERSIGN_API_KEY: home.dev.site_key,
        COUNTERSIGN_SITE: home.dev.site_id,
      },
    })
    await asked.promise
    expect(existsSync(home.file('interrupted.key'))).toBe(true)
    running.kill(signal)
    const { code, out, err } = await running.ended
    server.closeAllConnections()
    server.close()
    expect([code, out]).toEqual([null, ''])
    expect(err).toContain('Interrupted, so interrupted.key was removed.')
    expect(existsSync(home.file('interrupted.key'))).toBe(false)
  })
  test('has the secret, for its owner only', async () => {
    for (const [i, argv] of commands.entries()) {
      const own = argv[1] === 'rotate-secret' ? [webhookId] : []
      const { code, out } = await home.run([...argv, ...own, '--out', `new-${i}.key`])
      expect(code).toBe(0)
      expect(out).toMatch(/^(?:key|wh|cred)_\S+\n$/)
      expect(readFileSync(home.file(`new-${i}.key`), 'utf8')).toMatch(/^(?:svc_sk_|whsec_|\{\n)/)
      expect(statSync(home.file(`new-${i}.key`)).mode & 0o777).toBe(0o600)
    }
  })
  test('that cannot be filled is removed, and the secret is reported as lost', { tags: 'long' }, async () => {
    // No file may grow, as on a full disk.
    const script = 'trap "" XFSZ; ulimit -f 0; exec "$0" "$@"'
    const argv = [...program, 'keys', 'create', '--permissions', 'feed:read', '--out', 'full.key']
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script, process.execPath, ...argv], {
      cwd: home.directory,
      env: { PATH: process.env.PATH },
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(
      /full\.key cannot be written \(EFBIG\)\. The secret of (key_\S+) is lost\. Delete or revoke \1/,
    )
    expect(existsSync(home.file('full.key'))).toBe(false)
  })
})

describe('nodes', () => {
  test('are listed with their state, for operators', async () => {
    // A machine that has stood still for a moment has a node that is not ready.
    await expect.poll(async () => (await home.run(['nodes'])).out).toMatch(/^node_\S+ +ready /m)
    const { code, out } = await home.run(['nodes'])
    expect(code).toBe(0)
    expect(out).toMatch(/^NODE +STATE +VERSION +UP +ENTRY +VIEW +FEEDS +CLOCK$/m)
    expect(out).toMatch(/^node_\S+ +\w+ +\S+ +\d+ [smhd] +\d+ +\d+ ms +\d+ +-?\d+ ms$/m)
    expect(Math.max(...out.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
    expectAnswer('list_nodes', (await home.run(['nodes', '--json'])).json())
  })
})

describe('webhooks', () => {
  test('are created, listed, shown, given a new secret, looked into and deleted', async () => {
    const url = 'https://hooks.example/countersign'
    const printed = await home.run(['webhooks', 'create', url, '--kinds', 'user.revoked'])
    expect(printed.code).toBe(0)
    expect(printed.out).toMatch(/^whsec_/)
    const all = (await home.run(['webhooks', 'create', url, '--json'])).json()
    expectAnswer('create_webhook', all)
    expect((await home.run(['webhooks', 'show', all.webhook_id])).out).toMatch(/^kinds +all$/m)
    const written = await home.run([
      'webhooks',
      'create',
      url,
      '--kinds',
      'site.changed',
      '--out',
      'hook.secret',
      '--json',
    ])
    const id = written.json().webhook_id
    expect(statSync(home.file('hook.secret')).mode & 0o777).toBe(0o600)
    expect((await home.run(['webhooks', 'list'])).out).toMatch(
      new RegExp(`^${id} +on +${url} +site\\.changed`, 'm'),
    )
    expectAnswer('list_webhooks', (await home.run(['webhooks', 'list', '--json'])).json())
    expect((await home.run(['webhooks', 'show', id, '--json'])).json()).toMatchObject({
      webhook_id: id,
      kinds: ['site.changed'],
    })
    const rotated = await home.run(['webhooks', 'rotate-secret', id, '--json'])
    expectAnswer('rotate_webhook_secret', rotated.json())
    expect((await home.run(['webhooks', 'rotate-secret', id])).out).toMatch(/^whsec_/)
    const deliveries = await home.run(['webhooks', 'deliveries', id])
    expect(deliveries).toMatchObject({ code: 0, err: expect.stringContaining('No deliveries.') })
    expectAnswer('list_deliveries', (await home.run(['webhooks', 'deliveries', id, '--json'])).json())
    expect(await home.run(['webhooks', 'replay', 'dlv_00000000'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('not_found'),
    })
    const paused = await home.run(['webhooks', 'pause', id, '--reason', 'maintenance', '--json'])
    expectAnswer('change_webhook', paused.json())
    expect(paused.json().status).toBe('paused')
    expect((await home.run(['webhooks', 'resume', id, '--json'])).json().status).toBe('on')
    const moved = ['webhooks', 'change', id, '--to', 'https://hooks.example/new', '--kinds', 'all', '--json']
    expect((await home.run(moved)).json()).toMatchObject({ url: 'https://hooks.example/new', kinds: null })
    expect((await home.run(['webhooks', 'change', id])).code).toBe(2)
    expect((await home.run(['webhooks', 'change', id, '--to', 'ftp://x'])).code).toBe(1)
    const since = ['--since', '2026-01-01T00:00:00Z']
    expectAnswer('recover_webhook', (await home.run(['webhooks', 'recover', id, ...since, '--json'])).json())
    expect((await home.run(['webhooks', 'recover', id, '--all', ...since])).out).toMatch(/^\d+ deliveries/)
    expect((await home.run(['webhooks', 'recover', id])).code).toBe(2)
    expectAnswer('list_site_deliveries', (await home.run(['deliveries', '--json'])).json())
    expect((await home.run(['deliveries', '--status', 'failed', '--webhook', id])).code).toBe(0)
    expect((await home.run(['deliveries', '--status', 'lost'])).code).toBe(2)
    expect((await home.run(['deliveries', '--kind', 'nonsense'])).code).toBe(1)
    expect((await home.run(['webhooks', 'delivery', 'dlv_00000000'])).code).toBe(1)
    expect((await home.run(['webhooks', 'delete', id])).code).toBe(2)
    expect((await home.run(['webhooks', 'delete', id, '--yes'])).code).toBe(0)
    expect((await home.run(['webhooks', 'show', id])).code).toBe(1)
    expect(await home.run(['webhooks', 'create', 'ftp://x'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('webhook_url_forbidden'),
    })
  })
})

describe('webhooks test', () => {
  test('says how the receiver answers, with exit code 3 unless it accepts', async () => {
    let status = 204
    const server = createServer((_request, response) => response.writeHead(status).end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      const { webhook_id: id } = (await home.run(['webhooks', 'create', url, '--json'])).json()
      const accepted = await home.run(['webhooks', 'test', id])
      expect(accepted).toMatchObject({
        code: 0,
        out: expect.stringMatching(/answered with 2xx after \d+ ms/),
      })
      status = 500
      const failed = await home.run(['webhooks', 'test', id, '--json'])
      expect(failed.code).toBe(3)
      expectAnswer('test_webhook', failed.json())
      expect((await home.run(['webhooks', 'test', id])).out).toContain('It must answer with 2xx.')
      expect((await home.run(['webhooks', 'test', 'wh_00000000'])).code).toBe(1)
      await home.run(['webhooks', 'delete', id, '--yes'])
    } finally {
      server.close()
    }
  })
})

describe('what a site knows', () => {
  test('credentials, by user and status', async () => {
    const { ppid } = home.dev
    const { out } = await home.run(['credentials', '--ppid', ppid, '--status', 'active'])
    expect(out.trim().split('\n')).toHaveLength(3)
    expectAnswer('list_credentials', (await home.run(['credentials', '--json'])).json())
    expect((await home.run(['credentials', '--status', 'lost'])).code).toBe(2)
    const find = async (...options: string[]) =>
      (await home.run(['credentials', '--status', 'active', ...options, '--json'])).json().items.length
    let found = 0
    for (const source of ['issued', 'exchanged', 'presented', 'sign_in'])
      found += await find('--source', source)
    expect([found > 0, found]).toEqual([true, await find()])
    expect((await home.run(['credentials', '--source', 'issued'])).code).toBe(1)
    expect((await home.run(['credentials', '--source', 'lost', '--status', 'active'])).code).toBe(2)
    const ending = (time: string) => home.run(['credentials', '--expires-before', time, '--json'])
    expect((await ending('2020-01-01T00:00:00Z')).json().items).toEqual([])
    expect((await ending('2099-01-01T00:00:00Z')).json().items.length).toBeGreaterThan(0)
    expect((await ending('soon')).code).toBe(2)
  })
  test('tokens, without the tokens', async () => {
    const { out: token } = await home.run(['exchange'])
    const { out } = await home.run(['tokens', '--ppid', home.dev.ppid])
    expect(out).toMatch(/^TOKEN +STATUS +USER/)
    expect(out).not.toContain(token.trim())
    expectAnswer('list_tokens', (await home.run(['tokens', '--json'])).json())
  })
  test('the audit, in pages that go on', async () => {
    const first = await home.run(['audit', '--limit', '2'])
    expect(first.out.trim().split('\n')).toHaveLength(3)
    expect(first.err).toMatch(/There are more\. Add --limit 4, or --cursor \S+/)
    const page = (await home.run(['audit', '--limit', '2', '--json'])).json()
    expectAnswer('list_audit', page)
    const next = (await home.run(['audit', '--limit', '2', '--cursor', page.next_cursor, '--json'])).json()
    expect(next.items[0].audit_id).not.toBe(page.items[0].audit_id)
    expect((await home.run(['audit', '--cursor', 'nonsense'])).code).toBe(1)
  })
  test('the audit by filter, in both orders, and of all sites', async () => {
    const oldest = (await home.run(['audit', '--order', 'oldest', '--limit', '1', '--json'])).json()
    const [first] = oldest.items
    const { json } = await home.run([
      ...['audit', '--action', first.action, '--outcome', 'done', '--to', '2100-01-01T00:00:00Z', '--json'],
    ])
    expect(json().items.at(-1)).toEqual(first)
    expect((await home.run(['audit', '--target', 'nothing'])).err).toContain('No audit rows.')
    const who = `${first.actor.type}${first.actor.id === null ? '' : `:${first.actor.id}`}`
    expect((await home.run(['audit', '--actor', who])).out).toContain(who)
    const wide = await home.run(['audit', '--all-sites', '--json'])
    expectAnswer('list_service_audit', wide.json())
    expect((await home.run(['audit', '--without-site'])).code).toBe(0)
    expect((await home.run(['audit', '--order', 'random'])).code).toBe(2)
    expect((await home.run(['audit', '--from', 'yesterday'])).code).toBe(2)
    expect((await home.run(['audit', '--actor', 'me'])).code).toBe(1)
  })
  test('the audit as CSV, NDJSON and OCSF', async () => {
    const csv = await home.run(['audit', '--format', 'csv', '--limit', '2'])
    expect(csv.out).toMatch(/^"audit_id","at"/)
    expect(csv.out.trim().split('\r\n')).toHaveLength(3)
    const lines = (await home.run(['audit', '--format', 'ndjson'])).out.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).site_id)).toContain(home.dev.site_id)
    const events = (await home.run(['audit', '--all-sites', '--format', 'ocsf'])).out.trim().split('\n')
    expect(JSON.parse(events[0] ?? '')).toMatchObject({ category_uid: 3 })
    expect((await home.run(['audit', '--format', 'xml'])).code).toBe(2)
    expect((await home.run(['audit', '--format', 'csv', '--json'])).code).toBe(2)
    expect((await home.run(['audit', '--format', 'csv', '--actor', 'me'])).code).toBe(1)
  })
  test('summary', async () => {
    const { code, out } = await home.run(['summary', '--window', '1h'])
    expect(code).toBe(0)
    expect(out).toMatch(/^bearer tokens +on$/m)
    expect(out).toMatch(/^counted since +\S+$/m)
    expect(out).toMatch(/^safe to switch off +no$/m)
    expectAnswer('read_summary', (await home.run(['summary', '--json'])).json())
    expect((await home.run(['summary', '--window', '1d'])).code).toBe(2)
  })
  test('verifiers', async () => {
    const { code, err } = await home.run(['verifiers'])
    expect(code).toBe(0)
    expect(err).toContain('No verifiers.')
    expectAnswer('list_verifiers', (await home.run(['verifiers', '--json'])).json())
  })
})
