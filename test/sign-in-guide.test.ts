import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { type Client, createClient } from '@countersign/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../packages/service/test/store/postgres-server.ts'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'
import { Browserless } from './browserless.ts'
import { answerPattern, guideSteps } from './guide-steps.ts'

const GUIDE = 'docs/guides/sign-in.md'
const root = join(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'countersign-sign-in-'))
const [, program = ''] = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(root, GUIDE), 'utf8')) ?? []
const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl)
  console.warn('\nSKIPPED: the commands of the guides are not tested here, for curl is not installed.\n')

describe.skipIf(!hasCurl)(`what ${GUIDE} says`, () => {
  let service: DevProcess
  let client: Client
  let origin: string
  let site: ChildProcess
  const here = (words: string) =>
    words
      .replaceAll('http://127.0.0.1:8787', service.dev.base_url)
      .replaceAll('http://localhost:3000', origin)

  beforeAll(async () => {
    service = await startDevProcess({ dataDir: join(home, 'data') })
    client = createClient({ baseUrl: service.dev.base_url, apiKey: service.dev.site_key })
    origin = `http://localhost:${await freePort()}`
  })
  afterAll(async () => {
    site?.kill()
    await service?.stop()
    rmSync(home, { recursive: true, force: true })
  })

  test('its commands are answered as it says', () => {
    for (const { command, answer } of guideSteps(GUIDE)) {
      const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
      const printed = execFileSync('sh', ['-ec', here(command)], { cwd: home, env, encoding: 'utf8' })
      expect(JSON.parse(printed), command).toEqual(answerPattern(JSON.parse(here(answer))))
    }
  })

  test('its program signs people in, and out when they are revoked', { tags: 'long' }, async () => {
    site = spawn(process.execPath, ['--conditions=countersign-source', '--input-type=module'], {
      cwd: root,
      env: { ...process.env, COUNTERSIGN_DEV: join(home, 'data/dev.json'), ORIGIN: origin },
    })
    const listening = new Promise((resolve) => site.stdout?.once('data', resolve))
    site.stdin?.end(program)
    await listening
    const { site_id } = service.dev
    const { credential, ppid } = await client.issueCredential({
      site_id,
      user_ref: 'guide',
      scope: ['orders:read'],
    })
    const browser = new Browserless()
    expect((await browser.open(origin)).status).toBe(401)
    const { status, text } = await browser.signIn(`${origin}/sign-in`, credential)
    expect([status, text]).toEqual([200, `You are ${ppid}\n`])

    const other = new Browserless()
    const page = await other.open(`${origin}/sign-in`)
    const cancel = /href="([^"]*sdk-callback[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&#38;', '&') ?? ''
    expect(await other.open(cancel)).toMatchObject({ status: 400, text: 'denied\n' })
    expect((await new Browserless().open(`${origin}/callback?code=x&state=y&iss=z`)).text).toBe(
      'state_mismatch\n',
    )

    await client.revokeUser({ site_id, ppid }, { waitSeconds: 10 })
    expect(await browser.open(origin)).toMatchObject({ status: 401, text: 'credential_revoked\n' })
  })
})
