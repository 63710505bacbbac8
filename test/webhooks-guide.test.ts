import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../packages/service/test/store/postgres-server.ts'
import { openReceiver } from '../packages/service/test/webhooks/receiver.ts'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'
import { answerPattern, guideSteps } from './guide-steps.ts'

const GUIDE = 'docs/guides/webhooks.md'
const root = join(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'countersign-webhooks-'))
const text = readFileSync(join(root, GUIDE), 'utf8')
const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl)
  console.warn('\nSKIPPED: the commands of the guides are not tested here, for curl is not installed.\n')

function block(kind: string): string {
  const [, body] = new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\`$`, 'ms').exec(text) ?? []
  if (body === undefined) throw new Error(`${GUIDE} has no ${kind} block`)
  return body
}

describe.skipIf(!hasCurl)(`what ${GUIDE} says`, () => {
  let service: DevProcess
  let port: number
  let receiver: ChildProcess | undefined
  let printed = ''
  beforeAll(async () => {
    port = await freePort()
    service = await startDevProcess({ dataDir: join(home, 'data') })
  })
  afterAll(async () => {
    receiver?.kill()
    await service?.stop()
    rmSync(home, { recursive: true, force: true })
  })

  const here = (words: string) =>
    words
      .replaceAll('http://127.0.0.1:8787', service.dev.base_url)
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
  const run = async (command: string) => {
    const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
    return JSON.parse((await promisify(execFile)('sh', ['-ec', here(command)], { cwd: home, env })).stdout)
  }
  /** The program of the guide, as a process of its own. */
  const startReceiver = (secrets: string) => {
    receiver = spawn(
      process.execPath,
      ['--conditions=countersign-source', '--no-warnings', '--input-type=module'],
      {
        cwd: root,
        env: { PATH: process.env.PATH, WEBHOOK_SECRETS: secrets, PORT: String(port) },
      },
    )
    receiver.stdout?.on('data', (bytes: Buffer) => (printed += bytes))
    receiver.stderr?.on('data', (bytes: Buffer) => (printed += bytes))
    receiver.stdin?.end(block('js'))
  }

  test('comes out as it says', { tags: 'long' }, async () => {
    const [make, revoke, list, replay, rotate, ...more] = guideSteps(GUIDE)
    expect(more).toEqual([])
    const step = async (wanted: typeof make) => {
      if (wanted === undefined) throw new Error(`${GUIDE} lacks a step`)
      const answer = await run(wanted.command)
      expect(answer, wanted.command).toEqual(answerPattern(JSON.parse(here(wanted.answer))))
      return answer
    }
    const { secret } = await step(make)
    startReceiver(secret)
    await expect
      .poll(() =>
        fetch(`http://127.0.0.1:${port}`, { method: 'POST' }).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(400)
    await step(revoke)
    await expect.poll(() => printed).toBe(`end the sessions of ${service.dev.ppid}\n`)
    await expect.poll(() => run(list?.command ?? '')).toEqual(answerPattern(JSON.parse(list?.answer ?? '')))
    await step(replay)
    await expect.poll(async () => (await run(list?.command ?? '')).items[0].status).toBe('delivered')
    // It came twice and was handled once.
    expect(printed).toBe(`end the sessions of ${service.dev.ppid}\n`)

    // The receiver has the old secret still; then both; then the new one alone.
    const { secret: next } = await step(rotate)
    const isDelivered = async () => {
      await step(replay)
      await expect.poll(async () => (await run(list?.command ?? '')).items[0].attempts).toBe(1)
      return (await run(list?.command ?? '')).items[0].last_status === 204
    }
    expect(await isDelivered()).toBe(true)
    for (const secrets of [`${secret} ${next}`, next]) {
      receiver?.kill()
      await new Promise((done) => receiver?.once('close', done))
      startReceiver(secrets)
      await expect
        .poll(() =>
          fetch(`http://127.0.0.1:${port}`, { method: 'POST' }).then(
            ({ status }) => status,
            () => 0,
          ),
        )
        .toBe(400)
      expect(await isDelivered()).toBe(true)
    }
  })

  test('shows the message as it is', async () => {
    const other = await openReceiver()
    const { site_id, site_key, base_url, user_ref } = service.dev
    const ask = (path: string, body: object) =>
      fetch(base_url + path, {
        method: 'POST',
        headers: { 'X-API-Key': site_key, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect(
      (await ask(`/api/sites/${site_id}/webhooks`, { url: other.url, kinds: ['user.revoked'] })).status,
    ).toBe(201)
    expect(user_ref).toBeDefined()
    expect(
      (await ask('/api/wallet/revoke-user', { site_id, ppid: 'did:service:ppid_somebody-else' })).status,
    ).toBe(200)
    await expect.poll(() => other.got.length).toBe(1)
    const shown = JSON.parse(block('json message'))
    const sent = JSON.parse(other.got[0]?.body ?? '')
    expect(sent).toEqual(answerPattern({ ...shown, data: { ...shown.data, seq: sent.data.seq } }))
    await other.close()
  })
})
