import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countersign } from './countersign.ts'
import { type Home, nowhere, openHome } from './home.ts'

let home: Home
/** Without a development start. */
const elsewhere = mkdtempSync(join(tmpdir(), 'countersign-elsewhere-'))
beforeAll(async () => {
  home = await openHome()
})
afterAll(async () => {
  rmSync(elsewhere, { recursive: true, force: true })
  await home?.close()
})

const show = ['sites', 'show', '--site', 'demo.localhost']
const url = () => ({ COUNTERSIGN_URL: home.dev.base_url })

describe('where the service is', () => {
  test('has to be said where there is no development start', async () => {
    const { code, err } = await countersign(show, { cwd: elsewhere })
    expect(code).toBe(2)
    expect(err).toContain('COUNTERSIGN_URL')
    expect(err).toContain('countersign dev')
  })
  test('comes from the development start of this directory, and that is said on the standard error', async () => {
    const { code, out, err } = await home.run(['sites', 'show', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ site_id: 'demo.localhost' })
    expect(err).toBe(`Using data/dev.json: ${home.dev.base_url}, site demo.localhost, site key\n`)
  })
  test('comes from a variable, and a flag wins over it', { tags: 'long' }, async () => {
    const env = { ...url(), COUNTERSIGN_API_KEY: home.dev.site_key, COUNTERSIGN_SITE: 'demo.localhost' }
    const { code, err } = await countersign(['sites', 'show'], { cwd: elsewhere, env })
    expect(code).toBe(0)
    expect(err).toBe('')
    const other = await countersign(['sites', 'show', '--url', await nowhere()], { cwd: elsewhere, env })
    expect(other.code).toBe(5)
  })
  test('the keys of the development start go to no other service', async () => {
    const seen: unknown[] = []
    const server = createServer((request, response) => {
      seen.push(request.headers['x-api-key'])
      response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { code } = await home.run([
      ...show,
      '--url',
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ])
    server.close()
    expect(code).toBe(1)
    expect(seen).toEqual([undefined])
  })
  test('a development file that leads to another machine is not used', async () => {
    mkdirSync(join(elsewhere, 'trap/data'), { recursive: true })
    writeFileSync(
      join(elsewhere, 'trap/data/dev.json'),
      JSON.stringify({ ...home.dev, base_url: 'https://trap.example' }),
    )
    const { code, err } = await countersign(show, { cwd: join(elsewhere, 'trap') })
    expect(code).toBe(2)
    expect(err).toContain('is not on this machine')
  })
  test.each([
    ['http://shop.example', 'must be https. http is only for this machine.'],
    ['nonsense', 'must be an http or https URL, such as https://id.example.'],
    ['https://user:secret@id.example', 'must not hold a user name or password'],
    ['https://id.example/?a=b', 'must not have a query or fragment'],
  ])('%s is refused as an address, with the name of the flag or the variable', async (address, words) => {
    const flag = await countersign([...show, '--url', address], { cwd: elsewhere })
    expect([flag.code, flag.err]).toEqual([2, `--url ${words}\n`])
    const variable = await countersign(show, { cwd: elsewhere, env: { COUNTERSIGN_URL: address } })
    expect([variable.code, variable.err]).toEqual([2, `COUNTERSIGN_URL ${words}\n`])
  })
  test.each([['nodes'], ['watch'], ['audit', '--format', 'csv'], ['verify', '--credential', 'any.json']])(
    '%s sends no key over plain http to another machine',
    async (...argv) => {
      const env = {
        COUNTERSIGN_URL: 'http://shop.example',
        COUNTERSIGN_SITE: 'shop.example',
        COUNTERSIGN_API_KEY: home.dev.site_key,
      }
      const { code, err } = await countersign(argv, { cwd: elsewhere, env })
      expect([code, err]).toEqual([2, 'COUNTERSIGN_URL must be https. http is only for this machine.\n'])
    },
  )
})

describe('who calls', () => {
  test.each([
    ['no key', {}, 'api_key_missing'],
    ['a wrong key', { COUNTERSIGN_API_KEY: `svc_sk_${'0'.repeat(49)}` }, 'api_key_invalid'],
  ])('with %s it ends with 4, and says what to do', async (_, env, problem) => {
    const { code, out, err } = await countersign(show, {
      cwd: elsewhere,
      env: { ...url(), ...env } as Record<string, string>,
    })
    expect(code).toBe(4)
    expect(out).toBe('')
    expect(err).toContain(problem)
    expect(err).toContain('COUNTERSIGN_API_KEY')
  })
  test('a text that is no key is named without it', async () => {
    const { code, err } = await countersign(show, {
      cwd: elsewhere,
      env: { ...url(), COUNTERSIGN_API_KEY: 'not-a-key' },
    })
    expect([code, err]).toEqual([2, 'The API key must be svc_sk_… as it was shown\n'])
  })
  test('a key comes from a file that only its owner reads, or from the standard input', async () => {
    const file = join(elsewhere, 'site.key')
    writeFileSync(file, `${home.dev.site_key}\n`, { mode: 0o600 })
    expect(
      (await countersign(show, { cwd: elsewhere, env: { ...url(), COUNTERSIGN_API_KEY_FILE: file } })).code,
    ).toBe(0)
    expect((await countersign([...show, '--api-key-file', file], { cwd: elsewhere, env: url() })).code).toBe(
      0,
    )
    expect(
      (
        await countersign([...show, '--api-key-file', '-'], {
          cwd: elsewhere,
          env: url(),
          input: home.dev.site_key,
        })
      ).code,
    ).toBe(0)
    chmodSync(file, 0o644)
    const { code, err } = await countersign([...show, '--api-key-file', file], { cwd: elsewhere, env: url() })
    expect(code).toBe(1)
    expect(err).toContain('chmod 600')
  })
  test('two keys at once, a file that is not there, and a key on the command line are refused', async () => {
    const both = { ...url(), COUNTERSIGN_API_KEY: 'x', COUNTERSIGN_API_KEY_FILE: 'y' }
    expect((await countersign(show, { cwd: elsewhere, env: both })).code).toBe(2)
    expect(
      (await countersign([...show, '--api-key-file', 'nowhere'], { cwd: elsewhere, env: url() })).code,
    ).toBe(2)
    const inline = await countersign([...show, '--api-key-file', home.dev.site_key], {
      cwd: elsewhere,
      env: url(),
    })
    expect(inline.code).toBe(2)
    expect(inline.err).not.toContain(home.dev.site_key)
    expect(
      (await countersign([...show, '--api-key', home.dev.site_key], { cwd: elsewhere, env: url() })).code,
    ).toBe(2)
  })
  test('a site of another owner looks like none', async () => {
    const env = { ...url(), COUNTERSIGN_API_KEY: home.dev.site_key }
    const { code, err } = await countersign(['sites', 'show', '--site', 'shop.example'], {
      cwd: elsewhere,
      env,
    })
    expect(code).toBe(1)
    expect(err).toContain('not_found')
  })
})

describe('what went wrong', () => {
  test('is said with 5 where no service answers', async () => {
    const { code, err } = await countersign([...show, '--url', await nowhere()], { cwd: elsewhere })
    expect(code).toBe(5)
    expect(err).toContain('ECONNREFUSED')
    expect(err).toContain('countersign doctor')
  })
  test('is one line of JSON with --json, on the standard error', async () => {
    const { code, out, err } = await countersign([...show, '--json'], { cwd: elsewhere, env: url() })
    expect(code).toBe(4)
    expect(out).toBe('')
    expect(JSON.parse(err)).toEqual({
      error: { code: 'api_key_missing', message: expect.any(String), request_id: expect.any(String) },
      exit_code: 4,
    })
    const usage = await countersign(['sites', 'paint', '--json'], { cwd: elsewhere })
    expect(JSON.parse(usage.err)).toMatchObject({ error: { code: 'usage' }, exit_code: 2 })
  })
  test('cannot write to the terminal of the user', async () => {
    const server = createServer((_, response) => {
      const body = {
        type: 'x',
        title: 'x',
        status: 403,
        code: 'api_key_forbidden',
        detail: 'no\u001b]0;owned\u0007\nreally',
        request_id: 'r',
      }
      response.writeHead(403, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { code, err } = await countersign(
      [...show, '--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`],
      {
        cwd: elsewhere,
      },
    )
    server.close()
    expect(code).toBe(4)
    expect(err).toContain('no\\u001b]0;owned\\u0007\\u000areally')
  })
})
