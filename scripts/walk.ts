import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cloneWorkingTree } from '../test/terminal/fresh-clone.ts'
import { walkProjects } from './walk/walk-projects.ts'
import { openWorkshop } from './walk/workshop.ts'

/**
 * Walks the way of a newcomer with the network: `npm ci` in a fresh clone on every Node that the
 * README names and on one that is too old; on the oldest of them the commands of the README at a
 * terminal; then the packed packages in a directory of their own, and `countersign add` in new
 * projects of every framework. Ends with an error at the first difference. Takes many minutes.
 * Arguments choose parts: `installs`, `terminal`, `packages`; one more names some of the projects.
 */
const OLDEST_NODE = '22.14.0'
const OTHER_NODES = ['24.21.0', '26.10.0']
const TOO_OLD_NODE = '20.18.0'
/** The embedded store would crash on it. */
const CRASHING_NODE = '22.13.1'

const PARTS = ['installs', 'terminal', 'packages']
const words = process.argv.slice(2)
const chosen = words.filter((word) => PARTS.includes(word))
const [only] = words.filter((word) => !PARTS.includes(word))
const has = (part: string) => chosen.length === 0 || chosen.includes(part)

const workshop = openWorkshop()
process.once('exit', () => workshop.close())
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const oldest = workshop.installNode(OLDEST_NODE)
const tooOld = workshop.installNode(TOO_OLD_NODE)
const clone = installClone(OLDEST_NODE, oldest)
if (has('installs')) {
  for (const version of OTHER_NODES) installClone(version, workshop.installNode(version))
  installOnOldNode()
}
if (has('terminal'))
  workshop.run(
    clone,
    oldest,
    'npx vitest run test/quickstart.test.ts test/terminal.test.ts test/first-run.test.ts test/examples.test.ts',
  )
if (has('packages')) await walkPackages(packAll())
console.log('The walk reached its end.')
process.exit(0)

function cloneAs(name: string): string {
  const folder = join(workshop.directory, name)
  cloneWorkingTree(folder)
  return folder
}

/** A fresh clone with its packages. Throws when npm warns about this Node. */
function installClone(version: string, bin: string): string {
  const folder = cloneAs(`clone-${version}`)
  const startMs = Date.now()
  const printed = workshop.run(folder, bin, 'npm ci')
  const seconds = Math.round((Date.now() - startMs) / 1000)
  const [megabytes] = workshop.run(folder, bin, 'du -sm node_modules').split('\t')
  console.log(`npm ci on Node ${version}: ${seconds} s, ${megabytes} MB`)
  if (printed.includes('EBADENGINE')) throw new Error(`npm ci warns on Node ${version}:\n${printed}`)
  return folder
}

function installOnOldNode(): void {
  const printed = workshop.run(cloneAs(`clone-${TOO_OLD_NODE}`), tooOld, 'npm ci')
  const [line] = /^.*use Node 22\.14, 24 or 26.*$/m.exec(printed) ?? []
  if (line === undefined) throw new Error(`npm ci does not explain Node ${TOO_OLD_NODE}:\n${printed}`)
  console.log(line)
}

/** The folder with what `npm pack` makes of every package. */
function packAll(): string {
  const folder = join(workshop.directory, 'packages')
  mkdirSync(folder)
  workshop.run(clone, oldest, 'npm run build')
  const names = ['core', 'sdk', 'console', 'service', 'cli'].map((name) => `-w packages/${name}`).join(' ')
  workshop.run(clone, oldest, `npm pack ${names} --pack-destination ${folder}`)
  return folder
}

async function walkPackages(packages: string): Promise<void> {
  const home = join(workshop.directory, 'home')
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{ "private": true }')
  const files = readdirSync(packages).map((name) => join(packages, name))
  workshop.run(home, oldest, `npm install ${files.join(' ')}`)

  for (const bin of [tooOld, workshop.installNode(CRASHING_NODE)]) {
    const { code, stderr } = workshop.attempt(
      home,
      bin,
      'node node_modules/@countersign/cli/dist/main.js dev',
    )
    if (code !== 2 || !/^countersign needs Node 22\.14 or later; .*\n$/.test(stderr))
      throw new Error(`on an older Node: ${code} ${stderr}`)
    console.log(stderr.trim())
  }

  const dev = await workshop.start(home, oldest, 'npx @countersign/cli dev --port 0', 'Stop with Ctrl-C.')
  if (/npm (?:run|start)/.test(dev.text)) throw new Error(`names scripts of a clone:\n${dev.text}`)
  workshop.run(home, oldest, 'npx @countersign/cli present /api/protected/action')
  await walkProjects(workshop, oldest, { packages, home, only })
}
