import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createClient } from '@countersign/sdk'
import { cloneWorkingTree } from '../test/terminal/fresh-clone.ts'

/**
 * Walks the way of a newcomer with the network: a fresh clone and `npm ci` on the oldest Node that
 * the README names, its commands at a terminal, then the packed packages in folders of their own,
 * on that Node and on one that is too old, and at last `countersign add` in a real project of Next.
 * Ends with an error at the first difference. Takes several minutes.
 */
const OLDEST_NODE = '22.13.1'
const TOO_OLD_NODE = '20.18.0'
const NEXT = { next: '16.4.6', react: '19.3.1', 'react-dom': '19.3.1' }

const directory = mkdtempSync(join(tmpdir(), 'countersign-walk-'))
const started = new Set<ChildProcess>()
const outerPath = (process.env.PATH ?? '').split(delimiter).filter((one) => !one.includes('node_modules'))

try {
  const node = installNode(OLDEST_NODE)
  const tooOld = installNode(TOO_OLD_NODE)
  const clone = walkClone(node)
  const packages = packAll(clone, node)
  await walkPackages(packages, node, tooOld)
  console.log('The walk reached its end.')
} finally {
  // As groups: what npx starts would stay otherwise.
  for (const { pid } of started) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  rmSync(directory, { recursive: true, force: true })
}

/** The folder with this version of Node, from the package that this repository uses, too. */
function installNode(version: string): string {
  const folder = join(directory, `node-${version}`)
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, allowScripts: { node: true }, dependencies: { node: version } }),
  )
  execFileSync('npm', ['install'], { cwd: folder, stdio: 'ignore', env: environment() })
  const bin = join(folder, 'node_modules/node/bin')
  const found = execFileSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).trim()
  if (found !== `v${version}`) throw new Error(`wanted Node ${version}, got ${found}`)
  return bin
}

function environment(bin?: string): NodeJS.ProcessEnv {
  const PATH = [...(bin === undefined ? [] : [bin]), ...outerPath].join(delimiter)
  return { PATH, HOME: process.env.HOME, NO_COLOR: '1', CI: 'true' }
}

/** Runs a command to its end, and throws with what it printed when it fails. */
function run(cwd: string, bin: string, line: string): string {
  console.log(`$ ${line}`)
  const [program = '', ...argv] = line.split(' ')
  const { status, stdout, stderr } = spawnSync(program, argv, {
    cwd,
    env: environment(bin),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${line} ended with ${status}:\n${stdout}${stderr}`)
  return `${stdout}${stderr}`
}

function walkClone(node: string): string {
  const clone = join(directory, 'countersign')
  cloneWorkingTree(clone)
  const startMs = Date.now()
  const printed = run(clone, node, 'npm ci')
  const seconds = Math.round((Date.now() - startMs) / 1000)
  const [megabytes] = run(clone, node, 'du -sm node_modules').split('\t')
  console.log(
    `npm ci: ${seconds} s, ${megabytes} MB, ${printed.match(/EBADENGINE/g)?.length ?? 0} engine warnings`,
  )
  if (printed.includes('EBADENGINE')) throw new Error(`npm ci warns on Node ${OLDEST_NODE}:\n${printed}`)
  run(clone, node, 'npx vitest run test/quickstart.test.ts test/terminal.test.ts test/examples.test.ts')
  return clone
}

/** The folder with what `npm pack` makes of every package. */
function packAll(clone: string, node: string): string {
  const folder = join(directory, 'packages')
  mkdirSync(folder)
  run(clone, node, 'npm run build')
  const names = ['core', 'sdk', 'console', 'service', 'cli'].map((name) => `-w packages/${name}`).join(' ')
  run(clone, node, `npm pack ${names} --pack-destination ${folder}`)
  return folder
}

async function walkPackages(packages: string, node: string, tooOld: string): Promise<void> {
  const home = join(directory, 'home')
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{ "private": true }')
  const files = readdirSync(packages).map((name) => join(packages, name))
  run(home, node, `npm install ${files.join(' ')}`)

  const main = 'node_modules/@countersign/cli/dist/main.js'
  const rejected = spawnSync(join(tooOld, 'node'), [main, 'dev'], { cwd: home, encoding: 'utf8' })
  if (rejected.status !== 2 || !/^countersign needs Node 22\.12 or later; .*\n$/.test(rejected.stderr))
    throw new Error(`on Node ${TOO_OLD_NODE}: ${rejected.status} ${rejected.stderr}`)
  console.log(rejected.stderr.trim())

  await start(home, node, ['npx', 'countersign', 'dev', '--port', '0'], 'Stop with Ctrl-C.')
  run(home, node, 'npx countersign present /api/protected/action')
  await walkNext(packages, node, home)
}

/** `countersign add` in a new project of Next, which it also builds. */
async function walkNext(packages: string, node: string, home: string): Promise<void> {
  const shop = join(directory, 'shop')
  mkdirSync(join(shop, 'app'), { recursive: true })
  writeFileSync(join(shop, 'package.json'), JSON.stringify({ private: true, dependencies: NEXT }))
  writeFileSync(
    join(shop, 'app/layout.jsx'),
    'export default function Layout({ children }) { return <html lang="en"><body>{children}</body></html> }\n',
  )
  writeFileSync(join(shop, 'app/page.jsx'), 'export default function Page() { return <p>Shop</p> }\n')
  const printed = run(home, node, `npx countersign add --project ${shop} --tarballs ${packages} --install`)
  if (!printed.includes('Checked with npx next build: it builds.')) throw new Error(printed)
  const text = await start(shop, node, ['npx', 'next', 'start', '-H', '127.0.0.1', '-p', '0'], 'Ready in')
  const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? []
  const url = `${origin}/protected`
  const statuses = [(await fetch(url)).status]
  const dev = JSON.parse(readFileSync(join(home, 'data/dev.json'), 'utf8'))
  const present = () =>
    spawnSync('npx', ['countersign', 'present', url], { cwd: home, env: environment(node) }).status
  const exits = [present()]
  const client = createClient({ baseUrl: dev.base_url, apiKey: dev.site_key })
  await client.revokeUser({ site_id: dev.site_id, user_ref: dev.user_ref }, { waitSeconds: 30 })
  exits.push(present())
  // 3: the credential was rejected.
  if (`${statuses} ${exits}` !== '401 0,3')
    throw new Error(`the route of Next answered ${statuses}, then ${exits}`)
  console.log(
    'countersign add next: 401 without a credential, accepted with one, rejected after the revocation',
  )
}

/** Starts a program and resolves to what it has printed once it has printed these words. */
function start(cwd: string, bin: string, [program = '', ...argv]: string[], words: string): Promise<string> {
  console.log(`$ ${[program, ...argv].join(' ')}`)
  const child = spawn(program, argv, {
    cwd,
    env: environment(bin),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  started.add(child)
  let text = ''
  return new Promise((resolve, reject) => {
    const read = (piece: Buffer) => {
      text += piece
      if (text.includes(words)) resolve(text)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', (code) => {
      started.delete(child)
      reject(new Error(`${program} ended with ${code}: ${text}`))
    })
  })
}
