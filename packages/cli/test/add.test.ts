import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { agentFetch, createClient } from '@countersign/sdk'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { planChanges, readRoute } from '../src/add/changes.ts'
import { describeNext } from '../src/add/describe.ts'
import { readProject } from '../src/add/project.ts'
import { chooseCommands } from '../src/terminal/own-commands.ts'
import { countersign } from './countersign.ts'
import { type Home, openHome } from './home.ts'

const root = join(import.meta.dirname, '../../..')
const scratch = mkdtempSync(join(tmpdir(), 'countersign-add-'))
const children = new Set<ChildProcess>()

let home: Home
beforeAll(async () => {
  home = await openHome()
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await home?.close()
  rmSync(scratch, { recursive: true, force: true })
})

/** A project with these files, and with the packages of this repository. */
function createProject(name: string, files: Readonly<Record<string, string>>): string {
  const directory = join(scratch, name)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  mkdirSync(directory, { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  return directory
}

/** `add` in the directory of the service, as a newcomer in a clone does it. */
const add = (directory: string, ...argv: string[]) =>
  home.run(['add', ...argv, '--project', directory, '--no-color'])

/** Every file of a project, without its packages. */
function readAll(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
    (name) => !name.startsWith('node_modules') && !name.startsWith('.git/'),
  )
  return Object.fromEntries(
    names
      .filter((name) => statSync(join(directory, name)).isFile())
      .map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
  )
}

/** Starts a file of the project; it prints its port. */
async function serve(directory: string, file: string): Promise<string> {
  const child = spawn(process.execPath, ['--conditions=countersign-source', file], {
    cwd: directory,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  for await (const piece of child.stdout) {
    const [port] = /\d{3,}/.exec(String(piece)) ?? []
    if (port !== undefined) return `http://127.0.0.1:${port}`
  }
  throw new Error(`${file} ended`)
}

/** The route answers 401 without, 200 with a credential, and 401 again after its revocation. */
async function expectProtected(url: string): Promise<void> {
  const { base_url, site_id, site_key } = home.dev
  const client = createClient({ baseUrl: base_url, apiKey: site_key })
  const user_ref = crypto.randomUUID()
  const { credential, ppid } = await client.issueCredential({ site_id, user_ref, scope: ['orders:read'] })
  const agent = agentFetch({ credential, origins: new URL(url).origin })
  expect((await fetch(url)).status).toBe(401)
  const accepted = await agent(url)
  expect([accepted.status, await accepted.json()]).toEqual([200, { caller: ppid }])
  await client.revokeUser({ site_id, user_ref }, { waitSeconds: 30 })
  await expect.poll(async () => (await agent(url)).status).toBe(401)
}

const tsconfig = (more: object) =>
  JSON.stringify({
    compilerOptions: {
      target: 'es2024',
      module: 'nodenext',
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: ['node_modules/@types'],
      customConditions: ['countersign-source'],
      // Four of them share nothing, and take four times the processor time.
      checkers: 1,
      ...more,
    },
    include: ['src', 'countersign', 'app'],
  })

const servers = {
  express: {
    'package.json': '{\n    "name": "shop",\n    "dependencies": { "express": "5.3.0", "zod": "4.6.7" }\n}\n',
    'index.js': `const express = require('express')
const shop = express()
const { protectedRoutes } = require('./countersign/routes.js')
shop.use(protectedRoutes)
const server = shop.listen(0, '127.0.0.1', () => console.log(server.address().port))
`,
  },
  fastify: {
    'package.json':
      '{ "type": "module", "scripts": { "start": "node src/main.js" }, "dependencies": { "fastify": "5.12.8" } }',
    'src/main.js': `import Fastify from 'fastify'
import { protectedRoutes } from './countersign/routes.js'
const app = Fastify()
app.register(protectedRoutes)
await app.listen({ host: '127.0.0.1', port: 0 })
console.log(app.server.address().port)
`,
  },
  hono: {
    'package.json': '{ "type": "module", "dependencies": { "hono": "4.13.17" } }',
    'tsconfig.json': tsconfig({ allowImportingTsExtensions: true, noEmit: true }),
    'src/server.ts': `import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { protectedRoutes } from './countersign/routes.ts'
const app = new Hono()
app.route('/', protectedRoutes)
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => console.log(port))
`,
  },
} as const

test.each([
  [
    'express',
    'index.js',
    "const { protectedRoutes } = require('./countersign/routes.js')",
    'shop.use(protectedRoutes)',
  ],
  [
    'fastify',
    'src/main.js',
    "import { protectedRoutes } from './countersign/routes.js'",
    'app.register(protectedRoutes)',
  ],
  [
    'hono',
    'src/server.ts',
    "import { protectedRoutes } from './countersign/routes.ts'",
    "app.route('/', protectedRoutes)",
  ],
] as const)(
  'writes a route for %s that a revocation closes',
  { tags: 'long' },
  async (framework, entry, importLine, mountLine) => {
    const directory = createProject(framework, servers[framework])
    const { code, out, err } = await add(directory)
    expect([code, out]).toEqual([0, expect.stringContaining('it builds')])
    for (const words of [`mount the route in ${entry}:`, importLine, mountLine]) expect(out).toContain(words)

    const files = readAll(directory)
    const [, key = ''] = /^COUNTERSIGN_API_KEY=(svc_sk_.+)$/m.exec(files['.env.countersign'] ?? '') ?? []
    expect(key).not.toBe('')
    expect(out + err).not.toContain(key)
    expect(statSync(join(directory, '.env.countersign')).mode & 0o777).toBe(0o600)
    expect(files['.gitignore']).toBe('.env.countersign\n')
    expect(JSON.parse(files['package.json'] ?? '').dependencies).toHaveProperty('@countersign/sdk')
    const { status } = await fetch(`${home.dev.base_url}/api/sites/${home.dev.site_id}/users`, {
      headers: { 'X-API-Key': key },
    })
    expect(status, 'the key of a guard can only follow and introspect').toBe(403)

    await expectProtected(`${await serve(directory, entry)}/protected`)
  },
)

test('writes a route for Next, in TypeScript without strict, with a guard that no build creates', {
  tags: 'long',
}, async () => {
  const directory = createProject('next', {
    'package.json': '{ "dependencies": { "next": "16.4.0", "express": "5.3.0" } }',
    'tsconfig.json': tsconfig({
      strict: false,
      exactOptionalPropertyTypes: false,
      moduleResolution: 'bundler',
      module: 'esnext',
      noEmit: true,
      allowImportingTsExtensions: true,
      paths: { 'next/server': ['./next.d.ts'] },
    }),
    'src/app/page.tsx': 'export default function Page() { return null }\n',
    // As much of Next as the route uses: while Next builds, `connection` never resolves.
    'next-server.mjs': 'export const connection = () => globalThis.connected\n',
    'next.d.ts': "declare module 'next/server' { export function connection(): Promise<void> }\n",
    '.env.local': 'OTHER=1',
    '.gitignore': '/node_modules',
  })
  chmodSync(join(directory, '.env.local'), 0o644)
  const { code, out } = await add(directory, '--path', '/api/orders')
  expect([code, out]).toEqual([0, expect.stringContaining('next is not installed yet')])
  const files = readAll(directory)
  expect(files['.env.local']).toMatch(/^OTHER=1\n\n# .*\nCOUNTERSIGN_URL=/)
  expect(statSync(join(directory, '.env.local')).mode & 0o777, 'it has a key now').toBe(0o600)
  expect(files['.gitignore']).toBe('/node_modules\n.env.local\n')
  // The sources of the SDK are strict themselves; an installed package has declarations instead.
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', '.'],
    { cwd: directory, encoding: 'utf8' },
  )
  expect(stdout.split('\n').filter((line) => line.startsWith('src/'))).toEqual([])

  // Bundled as Next does it. The import makes no guard, for it succeeds without variables; nor does
  // a call before there is a connection, as Next 16 makes it while it builds.
  const route = join(directory, 'src/app/api/orders/route.ts')
  const conditions = ['countersign-source', 'module', 'node']
  await build({
    root: directory,
    configFile: false,
    envDir: false,
    logLevel: 'error',
    resolve: { conditions, alias: { 'next/server': join(directory, 'next-server.mjs') } },
    ssr: { noExternal: true, resolve: { conditions } },
    build: {
      ssr: route,
      outDir: join(directory, 'dist'),
      rolldownOptions: { output: { entryFileNames: 'route.mjs' } },
    },
  })
  writeFileSync(
    join(directory, 'serve.mjs'),
    `import { createServer } from 'node:http'
import { GET } from './dist/route.mjs'
let connect
globalThis.connected = new Promise((resolve) => (connect = resolve))
let isPrerendered = false
GET(new Request('http://localhost:3000/api/orders')).finally(() => (isPrerendered = true))
await new Promise((resolve) => setTimeout(resolve, 10))
if (isPrerendered) throw new Error('the build called the guard')
connect()
process.loadEnvFile('.env.local')
const server = createServer(async (req, res) => {
  const answer = await GET(new Request('http://' + req.headers.host + req.url, { headers: req.headers }))
  res.writeHead(answer.status).end(await answer.text())
}).listen(0, '127.0.0.1', () => console.log(server.address().port))
`,
  )
  await expectProtected(`${await serve(directory, 'serve.mjs')}/api/orders`)
})

test('changes nothing with --dry-run, and nothing of others without --force', { tags: 'long' }, async () => {
  const directory = createProject('careful', servers.express)
  const before = readAll(directory)
  const dry = await add(directory, '--dry-run')
  expect([dry.code, dry.out]).toEqual([0, expect.stringContaining('Would write')])
  expect(readAll(directory)).toEqual(before)

  expect((await add(directory, '--no-check')).code).toBe(0)
  const first = readAll(directory)
  // The indent of package.json stays.
  expect(first['package.json']).toMatch(
    /^\{\n {4}"name": "shop",\n {4}"dependencies": \{\n {8}"@countersign\/sdk"/,
  )
  // A second time: the same files, and the key stays.
  const second = await add(directory, '--no-check', '--json')
  expect(second.json().changes.map(({ action }: { action: string }) => action)).toEqual([
    'keep',
    'keep',
    'keep',
  ])
  expect(readAll(directory)).toEqual(first)

  writeFileSync(join(directory, 'countersign/routes.js'), '// mine\n')
  const kept = await add(directory)
  expect(kept).toMatchObject({
    code: 1,
    err: expect.stringContaining('countersign/routes.js exists already'),
  })
  expect(readFileSync(join(directory, 'countersign/routes.js'), 'utf8')).toBe('// mine\n')
  expect((await add(directory, '--force')).code).toBe(0)
  const forced = readAll(directory)
  expect(forced['countersign/routes.js']).toBe(first['countersign/routes.js'])
  expect(forced['.env.countersign']?.match(/^COUNTERSIGN_API_KEY=/gm)).toHaveLength(1)
})

test('never lets a key into version control or out of the project', async () => {
  const tracked = createProject('tracked', { ...servers.express, '.env.countersign': '' })
  const git = (...argv: string[]) => execFileSync('git', argv, { cwd: tracked, stdio: 'ignore' })
  git('init', '-q')
  git('add', '.env.countersign')
  expect(await add(tracked)).toMatchObject({ code: 1, err: expect.stringContaining('git rm --cached') })
  const linked = createProject('linked', servers.express)
  symlinkSync(join(scratch, 'elsewhere'), join(linked, '.env.countersign'))
  expect(await add(linked)).toMatchObject({ code: 1, err: expect.stringContaining('not an ordinary file') })
  expect(existsSync(join(scratch, 'elsewhere'))).toBe(false)
  expect(existsSync(join(linked, 'countersign'))).toBe(false)
})

const listKeys = async (): Promise<string[]> =>
  (await home.run(['keys', 'list', '--limit', '200', '--json']))
    .json()
    .items.map(({ key_id }: { key_id: string }) => key_id)

test('creates no key when the files cannot be written', { tags: 'long' }, async () => {
  const before = await listKeys()
  const folder = createProject('no-folder', { ...servers.express, countersign: 'a file' })
  const values = createProject('values', servers.express)
  for (const [directory, argv, words] of [
    [folder, [], 'countersign/guard.js is not an ordinary file of the project. Nothing was changed.'],
    [values, ['--public-origin', 'http://a b'], 'COUNTERSIGN_PUBLIC_ORIGIN has characters'],
  ] as const) {
    const files = readAll(directory)
    expect(await add(directory, ...argv)).toMatchObject({ code: 1, err: expect.stringContaining(words) })
    expect(readAll(directory)).toEqual(files)
  }
  expect(await listKeys()).toEqual(before)
})

test.skipIf(process.getuid?.() === 0)('creates no key when this user may not write', async () => {
  const before = await listKeys()
  const directory = createProject('read-only', servers.express)
  for (const [place, mode, path] of [
    [directory, 0o500, 'countersign/guard.js'],
    [join(directory, 'package.json'), 0o400, 'package.json'],
  ] as const) {
    const { mode: usual } = statSync(place)
    chmodSync(place, mode)
    const { code, err } = await add(directory)
    chmodSync(place, usual)
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(
        `${path} cannot be written (EACCES), so nothing was changed. Give this user write access to ${place}.`,
      ),
    ])
  }
  expect(existsSync(join(directory, 'countersign'))).toBe(false)
  expect(await listKeys()).toEqual(before)
})

test.each([
  [
    { countersign: 'npm run -s countersign --', isClone: true },
    'then in the clone send requests to its port:',
  ],
  [{ countersign: 'npx @countersign/cli', isClone: false }, 'send requests to the port that it listens on:'],
])('prints commands of %j', (commands, words) => {
  const sources = `file:///cli/src/terminal/own-commands.${commands.isClone ? 'ts' : 'js'}`
  expect(chooseCommands(sources)).toMatchObject(commands)
  const project = readProject(createProject(crypto.randomUUID(), servers.express), undefined)
  const route = readRoute('/protected', 'orders:read')
  const plan = planChanges(project, { route, tarballs: undefined, isForced: false })
  const outcome = { route, hasKey: false, isInstalled: false, check: undefined }
  const text = describeNext(project, plan, outcome, chooseCommands(sources)).join('\n')
  const { countersign: command } = commands
  expect(text).toContain(`       ${command} keys create --label guard \\\n`)
  expect(text).toContain(`${words}\n`)
  const present = `${command} present http://localhost:3000/protected`
  const curl = 'curl -i http://localhost:3000/protected'.padEnd(present.length)
  expect(text).toContain(`\n       ${curl}  # 401\n       ${present}  # 200`)
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('says what is missing, and works without a service', { tags: 'long' }, async () => {
  const alone = createProject('alone', servers.express)
  const { code, out, err } = await countersign(['add', '--no-color'], { cwd: alone })
  expect([code, err]).toEqual([0, expect.stringContaining('no API key yet')])
  expect(out).toContain(
    'npm run -s countersign -- keys create --label guard \\\n         --permissions feed:read,tokens:introspect',
  )
  expect(out.split('\n').filter((line) => line.length > 80)).toEqual([])
  expect(readAll(alone)['.env.countersign']).toMatch(/^COUNTERSIGN_API_KEY=$/m)

  const broken = createProject('broken', {
    ...servers.hono,
    'tsconfig.json':
      '{ "files": ["src/wrong.ts"], "compilerOptions": { "types": [], "lib": ["es2024"], "checkers": 1 } }',
    'src/wrong.ts': 'const a: number = "b"\n',
  })
  expect(await add(broken)).toMatchObject({ code: 3, out: expect.stringMatching(/failed:\n.*wrong\.ts/s) })
  for (const [files, argv, words] of [
    [{}, [], 'no package.json'],
    [{ 'package.json': '{}' }, [], 'lists no framework'],
    [{ 'package.json': '{ "dependencies": { "hono": "4", "express": "5" } }' }, [], 'lists hono and express'],
    [{ 'package.json': '{}' }, ['koa'], 'no framework "koa" here. Give one of express, fastify, hono, next.'],
    [{ 'package.json': '{}' }, ['next'], 'neither app nor src/app'],
    [{ 'package.json': '{}' }, ['hono', '--path', "/a'b"], '--path must be'],
    [{ 'package.json': '{}' }, ['hono', '--tarballs', scratch], 'npm pack'],
  ] as const) {
    const directory = createProject(crypto.randomUUID(), files)
    const ended = await add(directory, ...argv)
    expect([ended.code === 0, ended.err], words).toEqual([false, expect.stringContaining(words)])
    expect(Object.keys(readAll(directory))).toEqual(Object.keys(files))
  }
})
