import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const KINDS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'] as const
const PACKAGES = [
  '.',
  'packages/core',
  'packages/console',
  'packages/sdk',
  'packages/service',
  'packages/cli',
]
const DEPENDENCY_KINDS = ['dependencies', 'devDependencies'] as const
type DependencyKind = (typeof DEPENDENCY_KINDS)[number]
/** Verifiers declare the version of the SDK, which cannot read a file in every runtime. */
const SDK_VERSION = 'packages/sdk/src/shared/version.ts'
const UNRELEASED = '## [Unreleased]'

export interface PreparedRelease {
  /** New contents by path. */
  readonly files: ReadonlyMap<string, string>
  readonly removed: readonly string[]
}

/**
 * The files of a release, without writing any. Throws when the version or a change file is invalid.
 */
export function prepareRelease(root: string, version: string, date: string): PreparedRelease {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const now = (JSON.parse(read('package.json')) as { version: string }).version
  if (!isLater(version, now)) throw new Error(`${version} is not a version after ${now}`)
  const changes = readChanges(root)
  const files = new Map([['CHANGELOG.md', releaseChangelog(read('CHANGELOG.md'), changes, version, date)]])
  for (const path of PACKAGES.map((folder) => join(folder, 'package.json'))) {
    files.set(path, replaceVersions(read(path), now, version))
  }
  files.set(SDK_VERSION, read(SDK_VERSION).replace(`'${now}'`, `'${version}'`))
  files.set('package-lock.json', replaceLockVersions(read('package-lock.json'), version))
  return { files, removed: changes.map(({ path }) => path) }
}

/** Why the repository is not prepared for this tag; empty when it is. */
export function checkRelease(root: string, tag: string): string[] {
  const version = tag.replace(/^v/, '')
  const faults: string[] = []
  for (const folder of PACKAGES) {
    const path = join(folder, 'package.json')
    const found = (JSON.parse(readFileSync(join(root, path), 'utf8')) as { version: string }).version
    if (found !== version) faults.push(`${path} has version ${found}, the tag is ${tag}`)
  }
  if (!readFileSync(join(root, SDK_VERSION), 'utf8').includes(`'${version}'`))
    faults.push(`${SDK_VERSION} does not have version ${version}`)
  if (!readFileSync(join(root, 'CHANGELOG.md'), 'utf8').includes(`\n## [${version}] - `)) {
    faults.push(`CHANGELOG.md has no section for ${version}`)
  }
  for (const { path } of readChanges(root)) faults.push(`${path} is not in the changelog yet`)
  return faults
}

interface Change {
  readonly path: string
  readonly kind: (typeof KINDS)[number]
  readonly text: string
}

export function readChanges(root: string): Change[] {
  const names = readdirSync(join(root, 'changes')).filter((name) => name !== 'README.md')
  return names.sort().map((name) => {
    const path = join('changes', name)
    const kind = KINDS.find((known) => name.startsWith(`${known.toLowerCase()}-`) && name.endsWith('.md'))
    if (kind === undefined)
      throw new Error(`${path}: the name must be <kind>-<words>.md, such as fixed-two-tabs.md`)
    const text = readFileSync(join(root, path), 'utf8').trim()
    if (text === '' || /^[-*#]/.test(text))
      throw new Error(`${path}: write one entry, without a bullet or a heading`)
    return { path, kind, text }
  })
}

/** Moves what is unreleased, and all change files, under a heading for the version. */
function releaseChangelog(text: string, changes: readonly Change[], version: string, date: string): string {
  const start = text.indexOf(UNRELEASED)
  if (start < 0) throw new Error(`CHANGELOG.md has no heading "${UNRELEASED}"`)
  const bodyStart = start + UNRELEASED.length
  const next = text.indexOf('\n## [', bodyStart)
  const body = text.slice(bodyStart, next < 0 ? undefined : next).trim()
  const rest = next < 0 ? '\n' : text.slice(next)
  const sections = new Map<string, string[]>()
  for (const part of body === '' ? [] : `\n${body}`.split('\n### ').slice(1)) {
    const [heading = '', ...lines] = part.split('\n')
    sections.set(heading, [...(sections.get(heading) ?? []), lines.join('\n').trim()])
  }
  for (const { kind, text: entry } of changes) {
    const indented = entry.replaceAll('\n', '\n  ')
    sections.set(kind, [...(sections.get(kind) ?? []), `- ${indented}`])
  }
  const order = [...KINDS, ...sections.keys()].filter(
    (kind, i, all) => sections.has(kind) && all.indexOf(kind) === i,
  )
  const released = order.map((kind) => `### ${kind}\n\n${(sections.get(kind) ?? []).join('\n')}\n`).join('\n')
  return `${text.slice(0, start)}${UNRELEASED}\n\n## [${version}] - ${date}\n\n${released}${rest}`
}

function replaceVersions(text: string, from: string, to: string): string {
  return text.replaceAll(
    /("(?:version|@countersign\/[a-z]+)": )"([^"]+)"/g,
    (whole, name: string, version: string) => (version === from ? `${name}"${to}"` : whole),
  )
}

function replaceLockVersions(text: string, version: string): string {
  const lock = JSON.parse(text) as {
    version: string
    packages: Record<string, { version?: string } & Partial<Record<DependencyKind, Record<string, string>>>>
  }
  lock.version = version
  for (const folder of PACKAGES) {
    const entry = lock.packages[folder === '.' ? '' : folder]
    if (entry === undefined) throw new Error(`package-lock.json does not list ${folder}`)
    entry.version = version
    for (const kind of DEPENDENCY_KINDS) {
      const dependencies = entry[kind] ?? {}
      for (const name of Object.keys(dependencies))
        if (name.startsWith('@countersign/')) dependencies[name] = version
    }
  }
  return `${JSON.stringify(lock, undefined, 2)}\n`
}

function isLater(version: string, than: string): boolean {
  const parse = (text: string) => /^(\d+)\.(\d+)\.(\d+)$/.exec(text)?.slice(1).map(Number)
  const [a, b] = [parse(version), parse(than)]
  if (a === undefined || b === undefined) return false
  for (const i of [0, 1, 2]) if (a[i] !== b[i]) return (a[i] as number) > (b[i] as number)
  return false
}
