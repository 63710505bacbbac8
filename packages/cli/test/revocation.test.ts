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
    const { code, err } = await home.run(['revoke-user', 'bob', '--yes'])
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
