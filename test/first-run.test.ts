import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkContract } from '../packages/service/test/contract-check.ts'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'

const root = join(import.meta.dirname, '..')
const directory = mkdtempSync(join(tmpdir(), 'countersign-first-run-'))
const dataDir = join(directory, 'data')
const npmStart = (data = dataDir) => startDevProcess({ dataDir: data, command: ['npm', 'start', '--'] })

const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl)
  console.warn(
    '\nSKIPPED: the commands that npm start prints are not tested here, for curl is not installed.\n',
  )

const printedCommands = (text: string) =>
  [...text.matchAll(/^ {2}# (.+)\n {2}(curl (?:.+\\\n)*.+)$/gm)].map(([, title, command]) => ({
    title,
    command,
  }))

/**
 * Runs a command as printed, in the folder where it was printed; only where curl puts the headers
 * is added.
 */
// biome-ignore lint/suspicious/noExplicitAny: whatever the service answers.
function paste(command = ''): { status: number; body: any } {
  const headerFile = join(directory, 'headers')
  const text = execFileSync('sh', ['-c', `${command} -D '${headerFile}'`], { cwd: root, encoding: 'utf8' })
  const [first = '', ...lines] = readFileSync(headerFile, 'latin1').trim().split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const { pathname, search } = new URL(/http:\/\/[^\s']+/.exec(command)?.[0] ?? '')
  const status = Number(first.split(' ')[1])
  checkContract({
    method: /-X (\w+)/.exec(command)?.[1] ?? 'GET',
    path: pathname + search,
    status,
    headers,
    text,
  })
  return { status, body: JSON.parse(text) }
}

describe('npm start', () => {
  let first: DevProcess
  beforeAll(async () => {
    first = await npmStart()
  })
  afterAll(async () => {
    await first?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  test('writes a file for tools that only its owner can read, with all that the contract names', () => {
    expect(statSync(join(dataDir, 'dev.json')).mode & 0o777).toBe(0o600)
    expect(Object.keys(first.dev).sort()).toEqual([
      'admin_url',
      'base_url',
      'bound',
      'credential',
      'issuer',
      'operator_key',
      'ppid',
      'protected_scope',
      'site_id',
      'site_key',
      'user_ref',
      'webhook_loopback',
    ])
    expect(Object.keys(first.dev.bound).sort()).toEqual(['credential', 'holder_private_jwk'])
    expect(first.dev).toMatchObject({
      base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/),
      site_id: 'demo.localhost',
      issuer: expect.stringMatching(/^did:key:z6Mk/),
      operator_key: expect.stringMatching(/^svc_sk_/),
      site_key: expect.stringMatching(/^svc_sk_/),
      credential: { issuer: first.dev.issuer },
      bound: {
        credential: { issuer: first.dev.issuer },
        holder_private_jwk: { kty: 'OKP', d: expect.any(String) },
      },
      protected_scope: [expect.any(String)],
      webhook_loopback: true,
    })
  })

  test('says where it is, in a few lines and without a secret', () => {
    const text = first.output()
    expect(text).toContain(`Countersign is running at ${first.dev.base_url}`)
    expect(text).toContain(`Created a site, an issuer, keys and credentials in ${dataDir}`)
    expect(text.split('\n').length).toBeLessThan(40)
    for (const secret of [
      first.dev.operator_key,
      first.dev.site_key,
      String(first.dev.bound.holder_private_jwk.d),
    ]) {
      expect(text).not.toContain(secret)
    }
  })

  test.skipIf(!hasCurl)('prints commands that do what is written above them', () => {
    const { ppid, site_id, base_url } = first.dev
    const expected: Record<string, object> = {
      'Accepted, with the credential of the user visitor': {
        status: 200,
        body: { allowed: true, presented: 'credential', subject: { site_id } },
      },
      'Revoke the user’s access': {
        status: 200,
        body: { success: true, revocation_type: 'user', already_revoked: false },
      },
      'Rejected from now on': { status: 401, body: { code: 'credential_revoked' } },
    }
    const commands = printedCommands(first.output())
    expect(commands.map(({ title }) => title)).toEqual(Object.keys(expected))
    for (const { title, command } of commands)
      expect(paste(command), command).toMatchObject(expected[String(title)] ?? {})
    // The guides and examples use the demo user, and come after this.
    const header = join(dataDir, 'credential.header')
    expect(paste(`curl -s -X POST ${base_url}/api/protected/action -H @${header}`)).toMatchObject({
      status: 200,
      body: { subject: { ppid } },
    })
  })

  test('finds the same data at the second start, and says so', { tags: 'long' }, async () => {
    const kept = join(directory, 'kept')
    const before = await npmStart(kept)
    await before.stop()
    await expect(fetch(before.dev.base_url)).rejects.toThrow()
    const after = await npmStart(kept)
    try {
      expect(after.output()).toContain(`Found the data of an earlier start in ${kept}`)
      expect(after.output()).not.toContain('Note:')
      expect(after.dev).toEqual({
        ...before.dev,
        base_url: expect.any(String),
        admin_url: expect.any(String),
      })
      if (hasCurl)
        expect(paste(printedCommands(after.output())[0]?.command)).toMatchObject({
          status: 200,
          body: { allowed: true },
        })
    } finally {
      await after.stop()
    }
  })
})
