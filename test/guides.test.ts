import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../packages/service/test/store/postgres-server.ts'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'

const root = join(import.meta.dirname, '..')
const directory = mkdtempSync(join(tmpdir(), 'countersign-guides-'))
let service: DevProcess
beforeAll(async () => {
  service = await startDevProcess({ dataDir: join(directory, 'data') })
})
afterAll(async () => {
  await service?.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** The blocks of that kind, in the order of the text. */
function blocks(file: string, kind: string): string[] {
  const text = readFileSync(join(root, 'docs/guides', file), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, body = '']) => body)
}

/** What the program prints. Rejects with its complaint when it fails. */
function run(program: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      ['--conditions=countersign-source', '--input-type=module'],
      { cwd: root, env: { ...process.env, COUNTERSIGN_DEV: join(directory, 'data/dev.json') } },
      (error, printed) => (error === null ? resolve(printed) : reject(error)),
    )
    child.stdin?.end(program)
  })
}

test.each([
  ['agents.md', ''],
  ['bring-your-own-tokens.md', ''],
  ['bring-your-own-tokens.md', ' testing'],
  ['mcp-servers.md', ''],
  ['signals.md', ''],
  ['protect-a-route.md', ''],
  ['protect-a-route.md', ' testing'],
])('the program of %s prints what it says (%s)', { tags: 'long', timeout: 60_000 }, async (guide, kind) => {
  const port = String(await freePort())
  const here = (texts: string[], between: string) => texts.join(between).replaceAll('3004', port)
  const program = here(blocks(guide, `js${kind}`), '\n')
  expect(program).not.toBe('')
  expect(await run(program)).toBe(here(blocks(guide, `text${kind}`), ''))
})

test('the guide to protecting a route explains every problem code of a guard', () => {
  const guide = readFileSync(join(root, 'docs/guides/protect-a-route.md'), 'utf8')
  const sources = globSync('packages/sdk/src/{feed/*,guard/not-ready,guard/guard}.ts', { cwd: root }).map(
    (file) => readFileSync(join(root, file), 'utf8'),
  )
  const codes = sources.flatMap((text) => [
    ...[...text.matchAll(/new (?:LogCorrupted|ServiceError)\(\s*'(\w+)'/g)].map(([, code]) => code),
    ...[...text.matchAll(/: ViewProblem = \{\s*code: '(\w+)'/g)].map(([, code]) => code),
    ...[...text.matchAll(/^const LASTING_CODES.*?\]\)/gms)].flatMap(
      ([list]) => list.match(/(?<=')\w+(?=')/g) ?? [],
    ),
    ...[...text.matchAll(/(?:#problem = \{ |return \{\s*)code: '(\w+)'/g)].map(([, code]) => code),
  ])
  expect(codes.length).toBeGreaterThan(20)
  // A guard that is closed reports nothing any more.
  for (const code of new Set(codes)) if (code !== 'closed') expect(guide).toContain(`\`${code}\``)
})

/** Stands in front of every snippet of the notes on frameworks. */
const BEFORE = `
import { createAdaptorServer } from '@hono/node-server'
import { agentFetch } from '@countersign/sdk'
import { createTestSite } from '@countersign/sdk/testing'
const site = await createTestSite({ siteId: 'shop.localhost' })
const guard = await site.guard()
const { credential, holderKey, ppid } = await site.issue({ scope: ['orders:read', 'orders:write'], bound: true })
const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve('http://127.0.0.1:' + server.address().port)))
const agentAt = (origins) => agentFetch({ credential, holderKey, origins, nowMs: () => site.clock.nowMs })
/** What the snippets have in common: who reads, and what is written. */
async function tryOut(origin, ...paths) {
  const agent = agentAt(origin)
  const { caller } = await (await agent(origin + '/orders')).json()
  console.log((await fetch(origin + '/orders')).status, caller === ppid)
  for (const path of paths) {
    const init = { method: 'POST', body: '{ "item": "tea" }', headers: { 'content-type': 'application/json' } }
    console.log(JSON.stringify(await (await agent(origin + path, init)).json()))
  }
  process.exit()
}
`
const SHOWN = '401 true\n{"item":"tea"}\n'

test.each<[name: string, after: string, printed: string, before?: string]>([
  [
    'express',
    'import { createServer } from "node:http"; await tryOut(await listen(createServer(app)), "/orders", "/parsed")',
    `${SHOWN}{"item":"tea"}\n`,
  ],
  ['fastify', 'await tryOut(await app.listen({ host: "127.0.0.1", port: 0 }), "/orders")', SHOWN],
  ['hono', 'await tryOut(await listen(createAdaptorServer(app)), "/orders")', SHOWN],
  [
    'fetch',
    'await tryOut(await listen(createAdaptorServer({ fetch: (request) => (request.method === "GET" ? GET : POST)(request) })), "/orders")',
    SHOWN,
  ],
  [
    'mcp',
    `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
     const origin = await listen(createAdaptorServer({ fetch }))
     const client = new Client({ name: 'agent', version: '1.0.0' })
     await client.connect(new StreamableHTTPClientTransport(new URL(origin + '/mcp'), { fetch: agentAt(origin) }))
     const told = async (name) => (await client.callTool({ name, arguments: {} })).content[0].text
     console.log((await told('who')) === ppid, await told('order'))
     process.exit()`,
    'true ordered\n',
  ],
  ['plain', 'await tryOut(await listen(server), "/orders")', SHOWN],
  [
    'upgrade',
    `import { connect } from 'node:net'
     const port = new URL(await listen(server)).port
     const plain = await site.issue()
     const open = (header, host = 'shop.localhost') => {
       const socket = connect(port, '127.0.0.1')
       socket.write('GET /live HTTP/1.1\\r\\nHost: ' + host + '\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n' + header + '\\r\\n')
       return socket
     }
     const first = (socket) => new Promise((resolve) => socket.once('data', (bytes) => resolve(String(bytes).split('\\r\\n')[0])))
     console.log(await first(open('')), await first(open('', 'a b')))
     const socket = open('X-Service-Credential: ' + plain.header + '\\r\\n')
     console.log(await first(socket))
     const end = new Promise((resolve) => socket.once('close', () => resolve('closed')))
     await site.revoke(plain)
     console.log(await end)
     process.exit()`,
    'HTTP/1.1 401 Denied HTTP/1.1 401 Denied\nHTTP/1.1 101 Switching Protocols\nclosed\n',
    // As much of `ws` as the snippet uses.
    `import { createServer } from 'node:http'
     import { EventEmitter } from 'node:events'
     const server = createServer()
     const webSockets = {
       handleUpgrade(req, socket, head, done) {
         socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
         done(Object.assign(new EventEmitter(), { close: () => socket.destroy() }))
       },
     }`,
  ],
  [
    'ended',
    `import { createServer } from 'node:http'
     const origin = await listen(createServer(app))
     const plain = await site.issue()
     const answer = fetch(origin + '/live', { headers: { 'x-service-credential': plain.header } }).then((response) => response.text())
     await started
     await site.revoke(plain)
     loaded()
     console.log(await answer.catch(() => 'ended'))
     process.exit()`,
    'ended\n',
    `import express from 'express'
     const app = express()
     let loaded, start
     const orders = new Promise((resolve) => (loaded = resolve))
     const started = new Promise((resolve) => (start = resolve))
     const loadOrders = () => (start(), orders)`,
  ],
  [
    'stream',
    `const plain = await site.issue()
     const response = await ticks(new Request('https://shop.example/', { headers: { 'x-service-credential': plain.header } }))
     const reader = response.body.getReader()
     console.log(new TextDecoder().decode((await reader.read()).value).trim())
     const end = (async () => { for (;;) if ((await reader.read()).done) return 'whole' })().catch((error) => error.name)
     await site.revoke(plain)
     console.log(await end)
     const other = await site.issue()
     const left = await ticks(new Request('https://shop.example/', { headers: { 'x-service-credential': other.header } }))
     await left.body.cancel() // as when the client leaves
     await new Promise((resolve) => setTimeout(resolve, 50))
     console.log('alive')
     process.exit()`,
    'tick\nwhole\nalive\n',
  ],
])(
  'the notes on frameworks: the snippet for %s works in the real thing',
  { tags: 'long', timeout: 60_000 },
  async (name, after, printed, before = '') => {
    const [snippet = ''] = blocks('frameworks.md', `js ${name}`)
    expect(snippet).not.toBe('')
    expect(await run(`${BEFORE}\n${before}\n${snippet}\n${after}`)).toBe(printed)
  },
)
