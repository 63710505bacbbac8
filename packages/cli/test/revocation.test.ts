import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAnswer, type Home, openHome } from './home.ts'

let home: Home
beforeAll(async () => {
  home = await openHome()
})
afterAll(() => home?.close())

async function issued(
  userRef: string,
  ...more: string[]
): Promise<{ credential: object; credential_id: string; ppid: string }> {
  const { json } = await home.run([
    'issue',
    '--user-ref',
    userRef,
    '--scope',
    'orders:read',
    '--json',
    ...more,
  ])
  return json()
}

const loadAudit = async (action: string, target: string) => {
  const { json } = await home.run(['audit', '--limit', '50', '--json'])
  return json().items.filter(
    (row: { action: string; target: string }) => row.action === action && row.target === target,
  )
}

describe('credentials show', () => {
  test('shows a known credential, and ends with 1 for another one', { tags: 'long' }, async () => {
    const { credential_id, ppid } = await issued('shown credential')
    const shown = await home.run(['credentials', 'show', credential_id])
    expect(shown.code).toBe(0)
    expect(shown.out).toMatch(new RegExp(`^user +${ppid}$`, 'm'))
    const asJson = await home.run(['credentials', 'show', credential_id, '--json'])
    expectAnswer('get_credential', asJson.json())
    const { issuer, issuer_key } = asJson.json()
    const listed = await home.run([
      ...['credentials', '--issuer', issuer, '--issuer-key', issuer_key, '--status', 'active', '--json'],
    ])
    expect(listed.json().items).toContainEqual(expect.objectContaining({ credential_id }))
    expect((await home.run(['credentials', 'show', 'cred_00000000'])).code).toBe(1)
  })
})

describe('revoke-all', () => {
  test('revokes all that a file names, after a yes', { tags: 'long' }, async () => {
    const [one, two] = [await issued('first of all'), await issued('second of all')]
    writeFileSync(home.file('all.txt'), `${one.ppid}\n\n${two.credential_id}\nsecond of all\n`)
    expect((await home.run(['revoke-all', 'all.txt'])).code).toBe(2)
    const dry = await home.run(['revoke-all', 'all.txt', '--dry-run', '--json'])
    expect(dry.json().targets).toEqual([
      { ppid: one.ppid },
      { credential_id: two.credential_id },
      { user_ref: 'second of all' },
    ])
    expect(dry.json().preview).toMatchObject({ credentials: { count: 2, complete: true } })
    const done = await home.run(['revoke-all', 'all.txt', '--yes', '--reason', 'breach', '--json'])
    expect(done.code).toBe(0)
    expectAnswer('revoke_targets', done.json())
    expect(done.json()).toMatchObject({ revoked: 3, not_found: 0 })
    expect((await home.run(['status', one.credential_id, two.credential_id])).code).toBe(3)
    const unknown = await home.run(['revoke-all', '--yes'], { input: 'tok_unknown\n' })
    expect(unknown).toMatchObject({ code: 3, out: expect.stringMatching(/^not found +tok_unknown$/m) })
    expect((await home.run(['revoke-all', '--yes'], { input: '\n# a comment\n' })).code).toBe(2)
    const secret = await home.run(['revoke-all', '--yes'], { input: `alice\nsvc_at_${'a'.repeat(49)}\n` })
    expect(secret).toMatchObject({ code: 2, err: expect.stringContaining('use revoke-token') })
    expect((await home.run(['revoke-all', '--yes'], { input: 'x\n'.repeat(201) })).code).toBe(2)
  })
})

describe('tokens revoke', () => {
  test('revokes a token by its id, after a yes, and ends with 3 when there is nothing to revoke', async () => {
    const { credential, ppid } = await issued('token holder')
    writeFileSync(home.file('holder.json'), JSON.stringify(credential))
    const { out: token } = await home.run(['exchange', '--credential', 'holder.json'])
    const [listed] = (await home.run(['tokens', 'list', '--ppid', ppid, '--json'])).json().items
    const { token_id } = listed
    const sha256 = createHash('sha256').update(token.trim()).digest('hex')
    const byHash = await home.run(['tokens', '--sha256', sha256, '--json'])
    expect(byHash.json().items).toMatchObject([{ token_id }])

    const revoke = (...more: string[]) => home.run(['tokens', 'revoke', token_id, ...more])
    expect((await revoke()).code).toBe(2)
    expect((await revoke('--dry-run')).out).toContain(`Would revoke the token ${token_id}`)
    const done = await revoke('--yes', '--reason', 'leaked', '--json')
    expect(done.code).toBe(0)
    expectAnswer('revoke_token_by_id', done.json())
    expect(await loadAudit('token.revoke', token_id)).toMatchObject([{ reason: 'leaked' }])
    const again = await revoke('--yes', '--wait', '1')
    expect(again).toMatchObject({ code: 3, out: expect.stringContaining('Nothing to revoke') })
    expect((await home.run(['tokens', 'revoke', '--yes'])).code).toBe(2)
  })
})

describe('users', () => {
  test('list and show say who is revoked, since when and why', async () => {
    const { ppid } = await issued('shown user')
    await home.run(['sign-out-user', ppid, '--yes', '--reason', 'lost phone'])
    await home.run(['revoke-user', ppid, '--yes', '--reason', 'has left'])
    const listed = await home.run(['users', 'list', '--status', 'revoked', '--json'])
    expectAnswer('list_users', listed.json())
    expect(listed.json().items).toContainEqual(expect.objectContaining({ ppid, reason: 'has left' }))
    expect((await home.run(['users', 'list'])).out).toMatch(new RegExp(`^${ppid} +revoked`, 'm'))
    expect((await home.run(['users', 'list', '--status', 'unknown'])).code).toBe(2)
    const shown = await home.run(['users', 'show', ppid])
    expect(shown.out).toMatch(/^status +revoked$/m)
    expect(shown.out).toMatch(/^active credentials +0$/m)
    expect(shown.out).toMatch(/^\d+ +user\.signed_out +\S+ +lost phone$/m)
    const named = (await home.run(['users', 'show', 'shown user', '--json'])).json().users
    expect(named).toMatchObject([{ ppid, status: 'revoked' }, { status: 'active' }])
    expectAnswer('get_user', named[0])
  })
})

describe('revoke-user', () => {
  test('is not done without a yes, when there is no terminal to ask', async () => {
    const { ppid, credential_id } = await issued('asked')
    for (const flags of [[], ['--no-input']]) {
      const { code, out, err } = await home.run(['revoke-user', ppid, ...flags])
      expect(code).toBe(2)
      expect(out).toBe('')
      expect(err).toContain('--yes')
    }
    expect((await home.run(['status', credential_id])).code).toBe(0)
  })
  test('rehearses: says what would end, and changes nothing', async () => {
    const { ppid, credential_id } = await issued('rehearsed')
    const { code, out, err } = await home.run(['revoke-user', ppid, '--dry-run'])
    expect(code).toBe(0)
    expect(out).toContain(`Would revoke the access of ${ppid} at demo.localhost.`)
    expect(out).toContain('1 known active credential, 0 live tokens.')
    expect(err).toContain('Nothing was changed.')
    const { json } = await home.run(['revoke-user', ppid, '--dry-run', '--json'])
    expect(json()).toEqual({
      dry_run: true,
      action: 'revoke-user',
      ppid,
      site_id: 'demo.localhost',
      credential_ids: [credential_id],
      tokens: 0,
    })
    expect((await home.run(['status', credential_id])).code).toBe(0)
    expect(await loadAudit('user.revoke', ppid)).toEqual([])
  })
  test('revokes, says it again the second time, and is undone for newer credentials only', async () => {
    const { ppid, credential_id } = await issued('revoked')
    const { code, out } = await home.run(['revoke-user', ppid, '--yes', '--reason', 'lost laptop'])
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`^revoked +${ppid}$`, 'm'))
    expect(out).toContain(credential_id)
    const again = await home.run(['revoke-user', ppid, '--yes', '--json'])
    expectAnswer('revoke_user', again.json())
    expect(again.json()).toMatchObject({ already_revoked: true, credential_ids: [credential_id] })
    expect(await loadAudit('user.revoke', ppid)).toContainEqual(
      expect.objectContaining({ reason: 'lost laptop' }),
    )
    const status = await home.run(['status', credential_id, '--json'])
    expect(status.json().statuses[credential_id]).toMatchObject({
      status: 'revoked',
      revocation_type: 'user',
      reason: 'lost laptop',
    })

    const back = await home.run(['reinstate', ppid, '--json'])
    expect(back.code).toBe(0)
    expectAnswer('reinstate_user', back.json())
    expect((await home.run(['status', credential_id])).code).toBe(3)
    const { out: words, err } = await home.run(['reinstate', ppid])
    expect(words).toMatch(/^was not revoked/)
    expect(err).not.toContain('issue a new one')
  })
  test('ends with the receipt of those who were waited for', async () => {
    const { ppid } = await issued('waited')
    const { code, out } = await home.run(['revoke-user', ppid, '--yes', '--wait', '3'])
    expect(code).toBe(0)
    expect(out).toMatch(/^applied by +no verifier is connected$/m)
    const other = await issued('waited too')
    const asJson = await home.run(['revoke-user', other.ppid, '--yes', '--wait', '3', '--json'])
    expectAnswer('revoke_user', asJson.json())
    expect(asJson.json().propagation).toMatchObject({ connected: 0, acknowledged: 0, laggards: [] })
    expect((await home.run(['revoke-user', ppid, '--yes', '--wait', '31'])).code).toBe(2)
  })
  test('lets users revoke themselves with their own credential, and no key', async () => {
    await home.run(['keygen', 'self.jwk'])
    const { credential, credential_id, ppid } = await issued('self', '--holder-key', 'self.jwk')
    writeFileSync(home.file('self.json'), JSON.stringify(credential))
    const env = { COUNTERSIGN_URL: home.dev.base_url }
    const own = ['revoke-user', '--self', '--credential', 'self.json', '--holder-key', 'self.jwk']
    expect((await home.run(own, { env })).code).toBe(2)
    const { code, out } = await home.run([...own, '--yes'], { env })
    expect(code).toBe(0)
    expect(out).toContain(ppid)
    expect((await home.run(['status', credential_id])).code).toBe(3)
  })
  test('needs to know whom, and only once', async () => {
    expect((await home.run(['revoke-user', '--yes'])).code).toBe(2)
    expect((await home.run(['revoke-user', home.dev.ppid, '--self', '--yes'])).code).toBe(2)
    for (const more of [
      ['--issuer', 'https://idp.example'],
      ['--subject', 'bob'],
    ]) {
      expect((await home.run(['revoke-user', ...more, '--yes'])).code).toBe(2)
      expect((await home.run(['revoke-user', 'bob', ...more, '--yes'])).code).toBe(2)
    }
    const { code, err } = await home.run(['revoke-user', 'did:service:bob', '--yes'])
    expect(code).toBe(1)
    expect(err).toContain('ppid')
  })
  test('a key that may not revoke is told so, with 4', async () => {
    await home.run(['keys', 'create', '--permissions', 'feed:read', '--out', 'reader.key'])
    const { code, err } = await home.run([
      'revoke-user',
      home.dev.ppid,
      '--yes',
      '--api-key-file',
      'reader.key',
    ])
    expect(code).toBe(4)
    expect(err).toContain('api_key_forbidden')
    const dry = await home.run([
      'revoke-user',
      home.dev.ppid,
      '--dry-run',
      '--api-key-file',
      'reader.key',
      '--json',
    ])
    expect(dry.json()).toEqual({
      dry_run: true,
      action: 'revoke-user',
      ppid: home.dev.ppid,
      site_id: 'demo.localhost',
    })
  })
})

describe('users by what people know', () => {
  const IDP = ['--issuer', 'https://idp.example', '--subject', '248289761001']

  test('a plain word is your own id of the user', async () => {
    const { ppid, credential_id } = await issued('carol')
    const found = await home.run(['users', 'resolve', 'carol', '--json'])
    expectAnswer('resolve_user', found.json())
    expect(found.json().users[0]).toEqual({ ppid, status: 'active' })
    const plan = await home.run(['revoke-user', 'carol', '--dry-run', '--json'])
    expect(plan.json()).toMatchObject({ user_ref: 'carol', credential_ids: [credential_id] })
    const { code, json } = await home.run(['revoke-user', 'carol', '--yes', '--json'])
    expect(code).toBe(0)
    expectAnswer('revoke_user', json())
    expect(json().entries).toHaveLength(2)
    const { out } = await home.run(['users', 'resolve', 'carol'])
    expect(out).toMatch(new RegExp(`^${ppid} +revoked`, 'm'))
    const back = await home.run(['reinstate', 'carol'])
    expect(back.out).toMatch(/^reinstated +carol$/m)
    expect(back.out).toContain(ppid)
  })

  test('users erase counts first, then signs the user out and erases', async () => {
    const { ppid } = await issued('erin')
    const dry = await home.run(['users', 'erase', 'erin', '--dry-run'])
    expect(dry.code).toBe(0)
    expect(dry.out).toMatch(/^Would sign out erin at demo\.localhost and erase the data of this user\.$/m)
    expect(dry.out).toMatch(/^Known now: 1 credentials, 0 tokens, 0 offers, 0 sign-ins, \d+ audit rows\.$/m)
    expect((await home.run(['users', 'erase', 'erin'])).code).toBe(2)
    expect((await home.run(['users', 'erase'])).code).toBe(2)
    const done = await home.run(['users', 'erase', 'erin', '--yes', '--json'])
    expect(done.code).toBe(0)
    expectAnswer('erase_user', done.json())
    expect(done.json()).toMatchObject({ dry_run: false, credentials: 1 })
    expect(done.json().ppids).toContain(ppid)
    expect((await home.run(['audit', '--json'])).out).not.toContain(ppid)
    expect((await home.run(['users', 'erase', 'erin', '--yes'])).out).toMatch(
      /^The data of erin was erased: 0 /m,
    )
  })

  test('a user of an OAuth issuer is named by issuer and subject', async () => {
    const { code, out } = await home.run(['revoke-user', ...IDP, '--yes'])
    expect(code).toBe(0)
    expect(out).toMatch(/^revoked +248289761001 of https:\/\/idp\.example$/m)
    const { json } = await home.run(['users', 'resolve', ...IDP, '--json'])
    expect(json().users).toEqual([expect.objectContaining({ status: 'revoked' })])
    expect((await home.run(['reinstate', ...IDP])).code).toBe(0)
  })

  test('sign-out-user ends what was issued, asks first, and waits for the receipt', async () => {
    const { credential_id } = await issued('dave')
    expect((await home.run(['sign-out-user', 'dave'])).code).toBe(2)
    const rehearsed = await home.run(['sign-out-user', 'dave', '--dry-run'])
    expect(rehearsed.out).toContain('Would end all current access of dave at demo.localhost.')
    const { code, json } = await home.run(['sign-out-user', 'dave', '--yes', '--wait', '3', '--json'])
    expect(code).toBe(0)
    expectAnswer('sign_out_user', json())
    expect(json()).toMatchObject({ kind: 'user.signed_out', propagation: { connected: 0 } })
    expect((await home.run(['status', credential_id])).code).toBe(3)
    expect((await home.run(['sign-out-user', '--yes'])).code).toBe(2)
  })

  test('revoke takes the jti or session of an access token', async () => {
    const idp = ['--issuer', 'https://idp.example']
    const { code, out } = await home.run(['revoke', ...idp, '--jti', 't1', '--yes'])
    expect(code).toBe(0)
    expect(out).toMatch(/^revoked +token t1 of https:\/\/idp\.example$/m)
    const session = await home.run(['revoke', ...idp, '--session', 's1', '--yes', '--json'])
    expect(session.json().credential_id).toMatch(/^cred_js_/)
    for (const wrong of [
      idp,
      ['--jti', 't1'],
      [...idp, '--jti', 'a', '--session', 'b'],
      ['cred_aaaaaaaa', ...idp],
    ])
      expect((await home.run(['revoke', ...wrong, '--yes'])).code).toBe(2)
  })
})

describe('revoke', () => {
  test('ends one credential permanently, and leaves the others of the user', async () => {
    const [one, other] = [await issued('two'), await issued('two')]
    expect((await home.run(['revoke', one.credential_id])).code).toBe(2)
    const rehearsed = await home.run(['revoke', one.credential_id, '--dry-run'])
    expect(rehearsed).toMatchObject({
      code: 0,
      out: expect.stringContaining(`Would revoke ${one.credential_id}`),
    })
    const { code, json } = await home.run([
      'revoke',
      one.credential_id,
      '--yes',
      '--reason',
      'agent retired',
      '--wait',
      '--json',
    ])
    expect(code).toBe(0)
    expectAnswer('revoke_credential', json())
    expect(json()).toMatchObject({ revocation_type: 'credential', propagation: { connected: 0 } })
    expect((await home.run(['status', one.credential_id])).code).toBe(3)
    expect((await home.run(['status', other.credential_id])).code).toBe(0)
  })
  test('a credential that was delegated revokes itself, and not the one before it', async () => {
    await home.run(['keygen', 'next.jwk'])
    await home.run(['delegate', 'next.jwk', '--bound', '--scope', 'orders:read', '--out', 'next.json'])
    const argv = ['revoke', '--self', '--credential', 'next.json', '--holder-key', 'next.jwk', '--yes']
    expect((await home.run(argv, { env: { COUNTERSIGN_URL: home.dev.base_url } })).code).toBe(0)
    const present = ['present', '/api/protected/action']
    expect((await home.run([...present, '--credential', 'next.json', '--holder-key', 'next.jwk'])).code).toBe(
      3,
    )
    expect((await home.run([...present, '--bound'])).code).toBe(0)
    expect((await home.run(['revoke', '--yes'])).code).toBe(2)
  })
})

describe('cut-offs', () => {
  test('revoke-holder takes a file, a did:key or a thumbprint', async () => {
    await home.run(['keygen', 'stolen.jwk'])
    const { credential_id } = await issued('erin', '--holder-key', 'stolen.jwk')
    expect((await home.run(['revoke-holder', 'stolen.jwk'])).code).toBe(2)
    const { code, json } = await home.run(['revoke-holder', 'stolen.jwk', '--yes', '--json'])
    expect(code).toBe(0)
    expectAnswer('revoke_holder', json())
    expect((await home.run(['status', credential_id])).code).toBe(3)
    const again = await home.run(['revoke-holder', json().target, '--yes', '--wait', '1'])
    expect(again.out).toMatch(/^revoked before/)
    expect(again.out).toMatch(/^applied by +no verifier is connected$/m)
    expect((await home.run(['revoke-holder', 'did:key:zBad', '--yes'])).code).toBe(1)
  })

  test('a thumbprint that begins like an option is none', async () => {
    for (const start of ['-A', '--', '-h', '--y']) {
      const thumbprint = start.padEnd(43, 'A')
      const { code, json } = await home.run(['revoke-holder', thumbprint, '--yes', '--json'])
      expect(code).toBe(0)
      expect(json()).toMatchObject({ target: thumbprint })
      const counted = await home.run(['preview', 'holder', '--json', thumbprint])
      expect(counted.code).toBe(0)
    }
    const twice = await home.run(['revoke-holder', '-A'.padEnd(43, 'A'), '-B'.padEnd(43, 'A')])
    expect(twice).toMatchObject({ code: 2, err: expect.not.stringContaining('\0') })
    expect((await home.run(['revoke-holder', '-Axe', '--yes'])).code).toBe(2)
  })

  test('of an issuer and a site ask first, and end everything issued so far', async () => {
    const { credential_id, credential } = await issued('frank')
    const { issuer } = credential as { issuer: string }
    expect((await home.run(['cut-off', 'issuer', issuer])).code).toBe(2)
    const cut = await home.run(['cut-off', 'issuer', issuer, '--yes', '--reason', 'breach'])
    expect(cut).toMatchObject({ code: 0, out: expect.stringMatching(/^cut off +did:/) })
    expect((await home.run(['status', credential_id])).code).toBe(3)
    expect(await loadAudit('issuer.cut_off', issuer)).toContainEqual(
      expect.objectContaining({ reason: 'breach' }),
    )
    expect((await home.run(['cut-off', 'issuer', 'did:web:else.example', '--yes'])).code).toBe(1)

    const later = await issued('frank')
    expect((await home.run(['cut-off', 'site'])).code).toBe(2)
    expect((await home.run(['cut-off', 'site', 'demo.localhost'])).code).toBe(2)
    const rehearsed = await home.run(['cut-off', 'site', 'demo.localhost', '--dry-run', '--json'])
    expect(rehearsed.json()).toMatchObject({
      dry_run: true,
      action: 'cut-off site',
      site_id: 'demo.localhost',
      preview: { irreversible: true, credentials: { complete: true } },
    })
    expect(rehearsed.json().preview.credentials.count).toBeGreaterThan(0)
    const words = await home.run(['cut-off', 'site', 'demo.localhost', '--dry-run'])
    expect(words.out).toMatch(
      /^Would end all access of all users at demo\.localhost\.\n(.+\n)*credentials +[1-9]/,
    )
    expect((await home.run(['status', later.credential_id])).code).toBe(0)
    const panic = await home.run(['cut-off', 'site', 'demo.localhost', '--yes', '--wait', '1', '--json'])
    expect(panic.code).toBe(0)
    expectAnswer('cut_off_site', panic.json())
    expect((await home.run(['status', later.credential_id])).code).toBe(3)
  })
})
