import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from '@countersign/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'

/** The commands of docs/guides/on-call.md as they are written, with the ids of this service. */
const root = join(import.meta.dirname, '..')
const text = readFileSync(join(root, 'docs/guides/on-call.md'), 'utf8')
const lines = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = '']) => block.trim().split('\n'))

const home = mkdtempSync(join(tmpdir(), 'countersign-on-call-'))
const MAIN = process.env.TEST_MAIN ?? join(root, 'packages/cli/src/main.ts')
const COUNTERSIGN = `countersign() { '${process.execPath}' --conditions=countersign-source --no-warnings '${MAIN}' "$@"; }`
let service: DevProcess
let ids: Readonly<Record<string, string>>
beforeAll(async () => {
  service = await startDevProcess({
    dataDir: join(home, 'data'),
    command: ['npm', 'start', '--', '--with-demo-app'],
  })
  const { base_url, site_id, site_key, operator_key, issuer, bound } = service.dev
  const client = createClient({ baseUrl: base_url, apiKey: site_key })
  const operator = createClient({ baseUrl: base_url, apiKey: operator_key })
  const { key_id } = await client.createKey({ site_id, permissions: ['feed:read'], label: 'leaked' })
  const { person_id } = await operator.createPerson({ name: 'Ada', roles: [{ site_id, role: 'viewer' }] })
  writeFileSync(join(home, 'laptop.jwk'), JSON.stringify(bound.holder_private_jwk), { mode: 0o600 })
  const key = issuer.slice('did:key:'.length)
  ids = { 'person_01k…': person_id, 'key_01k…': key_id, 'z6Mk…': key }
})
afterAll(async () => {
  await service?.stop()
  rmSync(home, { recursive: true, force: true })
})

async function paste(line: string): Promise<{ readonly code: number; readonly said: string }> {
  const given = Object.entries(ids).reduce((words, [from, to]) => words.replaceAll(from, to), line)
  const env = { PATH: process.env.PATH, NO_COLOR: '1' }
  const ran = promisify(execFile)('bash', ['-c', `${COUNTERSIGN}\n${given}`], { cwd: home, env })
  return ran.then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, said: stdout + stderr }),
  )
}

test('has a command for each situation', () => {
  expect(lines.length).toBeGreaterThan(10)
  for (const line of lines) expect(line).toMatch(/^countersign /)
})

test('every command works, and afterwards nothing of the demo user is accepted', {
  tags: 'long',
}, async () => {
  const header = Buffer.from(JSON.stringify(service.dev.credential)).toString('base64url')
  const present = async () => {
    const answer = await fetch(`${service.dev.base_url}/api/protected/action`, {
      method: 'POST',
      headers: { 'X-Service-Credential': header },
    })
    await answer.body?.cancel()
    return answer.status
  }
  expect(await present()).toBe(200)
  for (const line of lines) {
    const { code, said } = await paste(line)
    expect([line, code, said]).toEqual([line, 0, said])
    if (line.startsWith('countersign revoke-user')) expect(await present()).toBe(401)
  }
})
