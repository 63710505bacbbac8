import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { publishedFaults } from './published-files.ts'

/**
 * Checks a built package as a user who installs it would: lists what npm would publish, unpacks
 * exactly that into an empty project, and uses it there with plain Node and with a plain TypeScript
 * configuration. Leaves nothing behind; ends with an error at the first thing that fails.
 */
const root = join(import.meta.dirname, '..')

interface Manifest {
  readonly name: string
  readonly engines: { readonly node: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly publishConfig?: { readonly provenance?: boolean }
}

/** What a new user does with the core. */
const USE_CORE = `
import { SiteView, credentialHeader, didKey, didKeyMethod, generatePrivateKey, issueCredential, parseScope, parseSiteId, verify } from '@countersign/core'
import * as contract from '@countersign/core/contract'

const siteId = parseSiteId('shop.example')
const scope = parseScope('orders:read')
if (siteId === undefined || scope === undefined) throw new Error('ids are not read')
const nowMs = Date.UTC(2026, 10, 14, 12)
const key = await generatePrivateKey('Ed25519')
const signed = await issueCredential(
  { credentialId: 'cred_00000001', ppid: 'did:service:ppid_00000001', siteId, scope: [scope], validFromMs: nowMs, validUntilMs: nowMs + 1000 },
  { issuer: didKey(key.publicKey), verificationMethod: didKeyMethod(key.publicKey), key, createdMs: nowMs },
)
const verdict = await verify({ header: credentialHeader(signed) }, { scope: [scope], nowMs }, { site: new SiteView({ siteId }), ageMs: 0, ageMsMax: 1 })
if (verdict.ok || verdict.code !== 'issuer_untrusted') throw new Error('a site that trusts no issuer must not accept anything')
if (Object.keys(contract).length === 0) throw new Error('the contract is empty')
`

/** A route with a guard and its caller, in one process; and every entry point of the package. */
const USE_SDK = `
import { agentFetch, createClient, readDenial, verifyWebhook } from '@countersign/sdk'
import * as express from '@countersign/sdk/express'
import * as fastify from '@countersign/sdk/fastify'
import { requireCredential } from '@countersign/sdk/fetch'
import * as hono from '@countersign/sdk/hono'
import * as mcp from '@countersign/sdk/mcp'
import { createTestSite } from '@countersign/sdk/testing'

const site = await createTestSite()
const guard = await site.guard()
const route = requireCredential(guard, { scope: 'orders:write' }, async (request, { subject }) => Response.json([subject.ppid, await request.text()]))
const held = await site.issue({ scope: ['orders:write'], bound: true })
const agent = agentFetch({
  credential: held.credential,
  holderKey: held.holderKey,
  origins: 'https://shop.example',
  nowMs: () => site.clock.nowMs,
  fetch: (url, init) => route(new Request(url, init)),
})
const order = () => agent('https://shop.example/orders?a=1', { method: 'POST', body: 'tea' })
const told = JSON.stringify(await (await order()).json())
if (told !== JSON.stringify([held.ppid, 'tea'])) throw new Error('the agent was not accepted: ' + told)
await site.revoke(held)
const denial = await readDenial(await order())
if (denial?.code !== 'credential_revoked') throw new Error('the agent was accepted after all')
await site.close()
for (const door of [express, fastify, hono, mcp]) if (typeof door.requireCredential !== 'function') throw new Error('a door is empty')
createClient({ baseUrl: 'https://auth.example' })
const webhook = { secret: 'whsec_' + btoa('x'.repeat(24)), headers: {}, body: '' }
const refused = await verifyWebhook(webhook).then(() => '', (error) => error.code)
if (refused !== 'headers_malformed') throw new Error('a webhook without headers was accepted')
`

/** The service, as a program that only wants to know whether its settings will do. */
const USE_SERVICE = `
import { createLogger, migrate, openService, readConfig } from '@countersign/service'

const env = { COUNTERSIGN_BASE_URL: 'https://id.example', COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4) }
if (readConfig('production', { env }).port !== 8787) throw new Error('the settings are not read')
const config = readConfig('production', { flags: [['data-dir', 'data'], ['port', '0'], ['admin-port', '0']], env })
if ((await migrate(config)).kind !== 'sqlite') throw new Error('the store cannot be made')
const service = await openService(config, { log: createLogger('silent'), onFatal: (fault) => { throw fault } })
const { port } = await service.listen()
const load = async (path = '') => {
  const answer = await fetch('http://127.0.0.1:' + port + path)
  return { status: answer.status, body: await answer.text() }
}
const page = await load('/wallet')
const script = /src="([^"]+[.]js)"/.exec(page.body)?.[1] ?? 'none'
const served = await load(script)
const guide = await load('/docs/guides/quickstart')
const picture = await load('/docs/pictures/flow.svg')
const console = await load('/console')
const asset = await load(/src="([^"]+[.]js)"/.exec(console.body)?.[1] ?? 'none')
await service.close()
if (console.status !== 200 || asset.status !== 200) throw new Error('the console is not there')
const isJoined = served.body.startsWith('const PAGE_MESSAGES') && !/^(import|export) /m.test(served.body)
if (served.status !== 200 || !isJoined) throw new Error('the pages have no script')
if (guide.status !== 200 || picture.status !== 200) throw new Error('the documents are not there')
`

/** The command, as a shell runs it. */
const USE_CLI = `
import { execFileSync } from 'node:child_process'

const run = (...argv) => execFileSync(process.execPath, ['node_modules/@countersign/cli/dist/main.js', ...argv], { encoding: 'utf8' })
if (!run('--help').startsWith('Examples')) throw new Error('there is no help')
if (!run('keygen', '-').includes('"kty"')) throw new Error('the core is not found')
if (!run('config', '--help').includes('countersign config')) throw new Error('the service is not found')
`

const TSCONFIG = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom'],
    strict: true,
    noEmit: true,
  },
  include: ['use.ts'],
}

interface Use {
  readonly folder: string
  readonly text: string
  /** Where the types of others are in the way: theirs are not ours to check. */
  readonly skipLibCheck: boolean
  /** A program is run, not imported: it has no entry point and no types. */
  readonly program?: string
}

/** Looks at one built package; throws at the first thing that fails. */
export function checkPackage({ folder, text, skipLibCheck, program }: Use): void {
  const packageRoot = join(root, folder)
  const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as Manifest
  const paths = packedPaths(packageRoot)
  const faults = [
    ...publishedFaults(
      paths.map((path) => ({ path, text: readFileSync(join(packageRoot, path), 'utf8') })),
      root,
      program,
    ),
  ]
  if (manifest.publishConfig?.provenance !== true)
    faults.push('package.json does not ask for provenance (publishConfig)')
  if (readFileSync(join(packageRoot, 'LICENSE'), 'utf8') !== readFileSync(join(root, 'LICENSE'), 'utf8'))
    faults.push('LICENSE differs from the one of the repository')
  if (faults.length > 0)
    throw new Error(`${manifest.name} must not be published so:\n  ${faults.join('\n  ')}`)

  const project = mkdtempSync(join(tmpdir(), 'countersign-package-'))
  try {
    install(manifest, packageRoot, paths, project)
    writeFileSync(join(project, 'use.mjs'), text)
    writeFileSync(join(project, 'use.ts'), text)
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({
        ...TSCONFIG,
        compilerOptions: { ...TSCONFIG.compilerOptions, skipLibCheck, types: [] },
      }),
    )
    const runtimes = nodes(manifest).map((node) => {
      execFileSync(node, ['use.mjs'], { cwd: project, stdio: 'inherit' })
      return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
    })
    if (program === undefined)
      execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
        stdio: 'inherit',
      })
    const done = program === undefined ? 'imported by' : 'run by'
    console.log(
      `${manifest.name}: ${paths.length} files, ${done} Node ${runtimes.join(' and ')}${program === undefined ? ', types read by tsc' : ''}`,
    )
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
}

function packedPaths(packageRoot: string): readonly string[] {
  // The output of npm 11 is a list, newer ones answer with an object by name.
  const packed = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: packageRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
  const [{ files }] = Object.values(packed) as [{ files: { path: string }[] }]
  return files.map(({ path }) => path)
}

/**
 * The files that would be published and the dependencies that are declared, and nothing else that
 * the repository has.
 */
function install(
  { name, dependencies = {}, peerDependencies = {} }: Manifest,
  from: string,
  paths: readonly string[],
  project: string,
): void {
  const modules = join(project, 'node_modules')
  for (const path of paths) cpSync(join(from, path), join(modules, name, path))
  // An optional peer is only looked at for its types.
  for (const dependency of Object.keys({ ...dependencies, ...peerDependencies })) {
    const target = join(modules, dependency)
    mkdirSync(dirname(target), { recursive: true })
    // A version of its own lies with the package.
    const own = join(from, 'node_modules', dependency)
    symlinkSync(existsSync(own) ? own : join(root, 'node_modules', dependency), target, 'junction')
  }
}

/**
 * Our own Node, and the one that the machine has outside of this repository, if it has one that the
 * package is made for.
 */
function nodes({ engines }: Manifest): readonly string[] {
  const [majorMin = 0, minorMin = 0] = engines.node.replace('>=', '').split('.').map(Number)
  const others = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '' && !folder.includes('node_modules'))
    .map((folder) => join(folder, 'node'))
    .filter((node) => existsSync(node))
    .filter((node) => {
      const [major = 0, minor = 0] = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
        .split('.')
        .map(Number)
      return major > majorMin || (major === majorMin && minor >= minorMin)
    })
  return [process.execPath, ...others.slice(0, 1)]
}

export const uses: readonly Use[] = [
  { folder: 'packages/core', text: USE_CORE, skipLibCheck: false },
  { folder: 'packages/sdk', text: USE_SDK, skipLibCheck: false },
  { folder: 'packages/service', text: USE_SERVICE, skipLibCheck: true },
  { folder: 'packages/cli', text: USE_CLI, skipLibCheck: true, program: 'dist/main.js' },
]
