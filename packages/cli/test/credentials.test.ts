import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAnswer, type Home, nowhere, openHome } from './home.ts'

let home: Home
beforeAll(async () => {
  home = await openHome()
})
afterAll(() => home?.close())

const readMode = (name: string) => statSync(home.file(name)).mode & 0o777
const readJson = (name: string) => JSON.parse(readFileSync(home.file(name), 'utf8'))

describe('keygen', () => {
  test('prints the public half, and keeps the private one in a file for its owner only', async () => {
    const { code, out, err } = await home.run(['keygen', 'holder.jwk'])
    expect(code).toBe(0)
    expect(out).toMatch(/^did:key:z6Mk\w+\n$/)
    expect(readMode('holder.jwk')).toBe(0o600)
    const { d } = readJson('holder.jwk')
    expect(d).toMatch(/^[\w-]{43}$/)
    expect(out + err).not.toContain(d)
  })
  test('never writes over a file', async () => {
    await home.run(['keygen', 'twice.jwk'])
    const before = readFileSync(home.file('twice.jwk'), 'utf8')
    const { code, err } = await home.run(['keygen', 'twice.jwk'])
    expect(code).toBe(2)
    expect(err).toContain('twice.jwk exists already, so nothing was created. Choose another name.')
    expect(readFileSync(home.file('twice.jwk'), 'utf8')).toBe(before)
  })
  test('makes P-256 keys, and prints one when it is told to', async () => {
    const { code, json } = await home.run(['keygen', '-', '--algorithm', 'P-256', '--json'])
    expect(code).toBe(0)
    expect(json()).toMatchObject({
      did: expect.stringMatching(/^did:key:zDn/),
      private_jwk: { crv: 'P-256', d: expect.any(String) },
    })
    expect((await home.run(['keygen', '-', '--algorithm', 'RSA'])).code).toBe(2)
  })
})

describe('issue', () => {
  test('prints the credential, which is accepted', async () => {
    const { code, out, err } = await home.run(['issue', '--user-ref', 'alice', '--scope', 'orders:read'])
    expect(code).toBe(0)
    expect(err).toContain('Using data/dev.json')
    writeFileSync(home.file('alice.json'), out)
    const shown = await home.run(['present', '/api/protected/action', '--credential', 'alice.json'])
    expect(shown.code).toBe(0)
    expect(shown.json()).toMatchObject({ allowed: true, subject: { scope: ['orders:read'] } })
  })
  test('answers with --json as the service does', async () => {
    const { code, json } = await home.run([
      'issue',
      '--user-ref',
      'alice',
      '--scope',
      'orders:read orders:write',
      '--json',
    ])
    expect(code).toBe(0)
    expectAnswer('issue_credential', json())
    expect(json().credential.credentialSubject.scope).toEqual(['orders:read', 'orders:write'])
  })
  test('binds it to the key in a file, and writes it to a file for its owner only', async () => {
    const { out: did } = await home.run(['keygen', 'bob.jwk'])
    const { code, out } = await home.run([
      'issue',
      '--user-ref',
      'bob',
      '--scope',
      'orders:read',
      '--holder-key',
      'bob.jwk',
      '--out',
      'bob.json',
    ])
    expect(code).toBe(0)
    expect(out).toMatch(/^cred_\w+\n$/)
    expect(readMode('bob.json')).toBe(0o600)
    expect(readJson('bob.json').credentialSubject.holder_key).toBe(did.trim())
  })
  test('signs here with an issuer key, and the site does not trust it until it is told to', async () => {
    const { out: issuer } = await home.run(['keygen', 'issuer.jwk'])
    const { ppid } = home.dev
    const argv = [
      'issue',
      '--issuer-key',
      'issuer.jwk',
      '--ppid',
      ppid,
      '--scope',
      'orders:read',
      '--out',
      'signed-here.json',
      '--json',
    ]
    const { code, json } = await home.run(argv)
    expect(code).toBe(0)
    expect(json()).toMatchObject({
      ppid,
      credential_id: expect.stringMatching(/^cred_/),
      file: 'signed-here.json',
    })
    const present = ['present', '/api/protected/action', '--credential', 'signed-here.json']
    const refused = await home.run(present)
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('issuer_untrusted') })
    expect((await home.run(['issuers', 'add', issuer.trim()])).code).toBe(0)
    expect((await home.run(present)).code).toBe(0)
  })
  test.each([
    [['issue', '--user-ref', 'a'], 'Missing --scope'],
    [['issue', '--scope', 'a'], 'Give either --user-ref'],
    [['issue', '--scope', 'a', '--user-ref', 'a', '--ppid', 'b'], 'Give either --user-ref'],
    [['issue', '--scope', 'a', '--user-ref', 'a', '--delegable'], '--delegable needs --holder-key'],
    [
      ['issue', '--scope', 'a', '--user-ref', 'a', '--ttl-seconds', 'long'],
      '--ttl-seconds must be a whole number',
    ],
    [['issue', '--scope', 'A B', '--ppid', 'x', '--issuer-key', 'holder.jwk'], 'scope must be'],
  ])('refuses %j with how it is meant', async (argv, words) => {
    const { code, out, err } = await home.run(argv)
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err).toContain(words)
  })
  test('says what the service did not take', async () => {
    const { code, err } = await home.run(['issue', '--user-ref', 'a', '--scope', 'Orders'])
    expect(code).toBe(1)
    expect(err).toContain('validation_failed')
    expect(err).toMatch(/ {2}scope/)
    expect(err).toMatch(/request \S+/)
  })
})

describe('inspect', () => {
  test('reads a credential, marks it as not verified, and explains every check', async () => {
    const { code, out } = await home.run([
      'inspect',
      'data/credential.header',
      '--site',
      'demo.localhost',
      '--scope',
      'orders:read',
    ])
    expect(code).toBe(0)
    expect(out).toMatch(/^NOT VERIFIED: did:key\S+ signed this credential/)
    expect(out).toContain(home.dev.ppid)
    for (const words of [
      /^signature +passed/m,
      /^revocation +not checked/m,
      /^scope +passed/m,
      /^issuer +not checked/m,
    ])
      expect(out).toMatch(words)
  })
  test('works without a service', async () => {
    const { code, json } = await home.run(['inspect', 'data/credential.header', '--json'], {
      env: { COUNTERSIGN_URL: await nowhere() },
    })
    expect(code).toBe(0)
    expect(json()).toMatchObject({
      verified: false,
      signature: 'valid',
      claims: { ppid: home.dev.ppid, site_id: 'demo.localhost' },
    })
    expect(json().checks).toHaveLength(12)
  })
  test('takes the development credential when none is named, and says so', async () => {
    const { code, err } = await home.run(['inspect'])
    expect(code).toBe(0)
    expect(err).toContain('data/dev.json')
  })
  test('says that no issuer vouches for a credential that was changed, and ends with 3', async () => {
    const forged = structuredClone(home.dev.credential) as unknown as {
      credentialSubject: { scope: string[] }
    }
    forged.credentialSubject.scope = ['orders:admin']
    const { code, out } = await home.run(['inspect', '-'], { input: JSON.stringify(forged) })
    expect(code).toBe(3)
    expect(out).toMatch(/^UNVERIFIED: no valid signature/)
    expect(out).toMatch(/^signature +DENIED .*credential_signature_invalid/m)
    const { json } = await home.run(['inspect', '-', '--json'], { input: JSON.stringify(forged) })
    expect(json()).toMatchObject({ verified: false, signature: 'invalid' })
  })
  test('looks ahead in time', async () => {
    const { code, out } = await home.run(['inspect', '--at', '2090-01-01T00:00:00Z'])
    expect(code).toBe(3)
    expect(out).toContain('credential_expired')
    expect((await home.run(['inspect', '--at', 'tomorrow'])).code).toBe(2)
  })
  test('shows what it can of something that is no credential, and lets it write nothing but text', async () => {
    const evil = JSON.stringify({ issuer: '\u001b[2J\u202eexample', '@context': [] })
    const { code, out } = await home.run(['inspect', '-'], { input: evil })
    expect(code).toBe(3)
    expect(out).toContain('UNVERIFIED')
    expect(out).toContain('\\u001b[2J\\u202eexample')
    expect(out).not.toMatch(/[\u001b\u202e]/)
  })
  test('takes the keys of a did:web from a document', async () => {
    const document = await (await fetch(`${home.dev.base_url}/.well-known/did.json`)).text()
    writeFileSync(home.file('did.json'), document)
    await home.run(['issue', '--user-ref', 'carol', '--scope', 'orders:read', '--out', 'carol.json'])
    const without = await home.run(['inspect', 'carol.json', '--json'])
    expect(without.json()).toMatchObject({ signature: 'not_checked' })
    const withIt = await home.run(['inspect', 'carol.json', '--did-document', 'did.json', '--json'])
    expect(withIt.json()).toMatchObject({ signature: 'valid' })
  })
})

describe('verify', () => {
  test('decides as the service does, from a signed snapshot', async () => {
    const { code, out } = await home.run(['verify', '--scope', 'orders:read'])
    expect(code).toBe(0)
    expect(out).toMatch(/^Accepted at demo\.localhost\.$/m)
    expect(out).toMatch(/^revocation +passed$/m)
  })
  test('refuses with 3 and the reason', async () => {
    const { code, json } = await home.run(['verify', '--scope', 'orders:admin', '--json'])
    expect(code).toBe(3)
    expect(json()).toMatchObject({
      allowed: false,
      code: 'scope_insufficient',
      view: { seq: expect.any(Number) },
    })
    const late = await home.run(['verify', '--at', '2090-01-01T00:00:00Z'])
    expect(late).toMatchObject({ code: 3, out: expect.stringContaining('credential_expired') })
  })
  test('leaves possession out without the holder key, and proves it with it', async () => {
    const { holder_private_jwk, credential } = home.dev.bound
    writeFileSync(home.file('bound.json'), JSON.stringify(credential))
    writeFileSync(home.file('bound.jwk'), JSON.stringify(holder_private_jwk), { mode: 0o600 })
    const without = await home.run(['verify', '--credential', 'bound.json'])
    expect(without).toMatchObject({ code: 0, out: expect.stringMatching(/^holder +not checked/m) })
    const withKey = await home.run(['verify', '--credential', 'bound.json', '--holder-key', 'bound.jwk'])
    expect(withKey).toMatchObject({ code: 0, out: expect.stringMatching(/^holder +passed$/m) })
    const wrongKey = await home.run(['verify', '--credential', 'bound.json', '--holder-key', 'holder.jwk'])
    expect(wrongKey).toMatchObject({ code: 3, out: expect.stringContaining('proof_invalid') })
  })
  test('needs a site and a key that may read the feed', async () => {
    const env = { COUNTERSIGN_URL: `${home.dev.base_url}/`, COUNTERSIGN_API_KEY: `svc_sk_${'0'.repeat(49)}` }
    const { code, err } = await home.run(['verify'], { env })
    expect(code).toBe(4)
    expect(err).toContain('api_key_invalid')
  })
})

describe('present', () => {
  test('signs the request for a bound credential, body and all', async () => {
    const { code, json } = await home.run([
      'present',
      '/api/protected/action',
      '--bound',
      '-d',
      '{"action":"ship"}',
    ])
    expect(code).toBe(0)
    expectAnswer('protected_action', json())
    expect(json()).toMatchObject({ allowed: true, action: 'ship' })
  })
  test('shows status and headers when asked, and all of it as JSON', async () => {
    const included = await home.run([
      'present',
      '/api/protected/action',
      '-i',
      '-H',
      'X-Request-Id: from-the-test',
    ])
    expect(included.out).toMatch(/^HTTP 200\n(?:.+\n)*x-request-id: from-the-test\n/)
    const { json } = await home.run(['present', '/api/protected/action', '--json'])
    expect(json()).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: { allowed: true },
    })
  })
  test('says that a bound credential needs its key', async () => {
    const { code, err } = await home.run(['present', '/api/protected/action', '--credential', 'bound.json'])
    expect(code).toBe(2)
    expect(err).toContain('holderKey')
  })
  test('trades it for a token on the way when told to', async () => {
    const { code, json } = await home.run(['present', '/api/protected/action', '--exchange'])
    expect(code).toBe(0)
    expect(json()).toMatchObject({ presented: 'bearer' })
  })
  test('ends with 1 for what is no refusal of a credential, with 5 where no service answers, with 2 for no address', async () => {
    expect((await home.run(['present', '/nothing-here'])).code).toBe(1)
    const unanswered = await home.run(['present', `${await nowhere()}/x`, '--credential', 'alice.json'])
    expect(unanswered).toMatchObject({ code: 5, err: expect.stringContaining('ECONNREFUSED') })
    expect((await home.run(['present', 'example'])).code).toBe(2)
    const plain = await home.run(['present', 'http://shop.example/x', '--credential', 'alice.json'])
    expect(plain).toMatchObject({ code: 2, err: expect.stringContaining('https') })
  })
})

describe('delegate', () => {
  test('delegates a narrower credential, which is accepted with its own key', async () => {
    await home.run(['keygen', 'next.jwk'])
    const { code, err } = await home.run([
      'delegate',
      'next.jwk',
      '--bound',
      '--scope',
      'orders:read',
      '--out',
      'next.json',
    ])
    expect(code).toBe(0)
    expect(err).toContain('expires')
    const shown = await home.run([
      'present',
      '/api/protected/action',
      '--credential',
      'next.json',
      '--holder-key',
      'next.jwk',
    ])
    expect(shown.code).toBe(0)
    expect(shown.json().subject.scope).toEqual(['orders:read'])
    const inspected = await home.run(['inspect', 'next.json', '--json'])
    expect(inspected.json()).toMatchObject({
      signature: 'valid',
      claims: { parent: { credential_id: expect.any(String) } },
    })
  })
  test.each([
    [['--bound', '--scope', 'orders:admin'], 'does not have that scope'],
    [['--bound', '--scope', 'orders:read', '--ttl-seconds', '31000000'], 'it expires earlier'],
    [['--credential', 'alice.json', '--scope', 'orders:read'], 'not bound to a key'],
    [['--credential', 'bound.json', '--scope', 'orders:read'], 'Give --holder-key'],
    [['--bound'], 'Missing --scope'],
    [['--bound', '--scope', 'orders:read', '--out', 'next.jwk'], 'next.jwk exists already'],
  ])('refuses %j', async (argv, words) => {
    const file = argv.includes('--out') ? [] : ['--out', 'rejected.json']
    const { code, out, err } = await home.run(['delegate', 'next.jwk', ...argv, ...file])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(words)
    expect(existsSync(home.file('rejected.json'))).toBe(false)
  })
  test('answers with JSON', async () => {
    const { json } = await home.run(['delegate', 'next.jwk', '--bound', '--scope', 'orders:read', '--json'])
    expect(json()).toMatchObject({
      credential: { parent: expect.any(Object) },
      credential_id: expect.stringMatching(/^cred_/),
    })
  })
})

describe('tokens', () => {
  test('exchange prints the token, introspect knows it, revoke-token ends it', { tags: 'long' }, async () => {
    const { code, out, err } = await home.run(['exchange', '--scope', 'orders:read', '--ttl-seconds', '60'])
    expect(code).toBe(0)
    expect(out).toMatch(/^svc_at_\w{49}\n$/)
    expect(err).not.toContain(out.trim())
    const active = await home.run(['introspect'], { input: out })
    expect(active).toMatchObject({ code: 0, out: expect.stringMatching(/^active +yes$/m) })
    const asJson = await home.run(['introspect', '--json'], { input: out })
    expectAnswer('introspect', asJson.json())

    expect((await home.run(['revoke-token'], { input: out })).code).toBe(2)
    const rehearsed = await home.run(['revoke-token', '--dry-run', '--json'], { input: out })
    expect(rehearsed.code).toBe(0)
    expect(rehearsed.json()).toMatchObject({ dry_run: true, action: 'revoke-token' })
    expect(rehearsed.out).not.toContain(out.trim())
    const revoked = await home.run(['revoke-token', '--yes', '--json'], { input: out })
    expect(revoked.code).toBe(0)
    expectAnswer('revoke_token', revoked.json())
    expect(await home.run(['introspect'], { input: out })).toMatchObject({ code: 3, out: 'active  no\n' })
    expect((await home.run(['revoke-token', '--yes'], { input: out })).code).toBe(3)
  })
  test('exchange proves possession of a bound credential, and answers with JSON that introspect reads', async () => {
    const { code, out, json } = await home.run(['exchange', '--bound', '--json'])
    expect(code).toBe(0)
    expectAnswer('exchange_proof', json())
    expect((await home.run(['introspect'], { input: out })).code).toBe(0)
  })
  test('a token on the command line is refused, and not repeated', async () => {
    const token = `svc_at_${'x'.repeat(49)}`
    for (const name of ['introspect', 'revoke-token']) {
      const { code, out, err } = await home.run([name, token])
      expect(code).toBe(2)
      expect(err).toContain('must not be on the command line')
      expect(out + err).not.toContain(token)
    }
  })
  test('what holds no token is refused', { tags: 'long' }, async () => {
    expect((await home.run(['introspect'], { input: '{}' })).code).toBe(2)
    expect((await home.run(['introspect'], { input: '' })).code).toBe(2)
    expect((await home.run(['introspect'], { input: 'junk' })).code).toBe(3)
  })
})

describe('status', () => {
  test('tells active from unknown, and ends with 3 unless all are active', async () => {
    const id = String(home.dev.credential.id).replace('did:service:', '')
    const active = await home.run(['status', id])
    expect(active).toMatchObject({ code: 0, out: expect.stringMatching(new RegExp(`^${id} +active`, 'm')) })
    const { code, json } = await home.run(['status', id, 'cred_00000000', '--json'])
    expect(code).toBe(3)
    expectAnswer('revocation_status', json())
    expect((await home.run(['status', 'nonsense'])).code).toBe(1)
    expect((await home.run(['status'])).code).toBe(2)
    expect((await home.run(['status', id, '--min-seq', 'aaaaaaaa.1'])).code).toBe(2)
  })
})
