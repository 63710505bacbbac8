import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix, resolve } from 'node:path'
import { CommandError, UsageError } from '../command.ts'

export const frameworks = ['express', 'fastify', 'hono', 'next'] as const
export type Framework = (typeof frameworks)[number]

/** The parts of a package.json that are used here. */
export interface PackageFile {
  readonly type?: string
  readonly main?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** A project that a guard is added to. Paths are relative to it, with `/`. */
export interface Project {
  readonly directory: string
  readonly packageFile: PackageFile
  readonly framework: Framework
  readonly isTypeScript: boolean
  /** Whether the files use `import`. TypeScript files always do. */
  readonly isEsm: boolean
  /** How files import each other: `.js`, `.ts`, or nothing where a bundler resolves them. */
  readonly importExtension: '' | '.js' | '.ts'
  /** `src`, or empty if the sources are at the top. */
  readonly sourceFolder: string
  readonly packageManager: 'npm' | 'pnpm' | 'yarn' | 'bun'
}

/**
 * Reads a project and detects its framework unless it is given. Throws a `UsageError` or a
 * `CommandError` that says what is missing. Writes nothing.
 */
export function readProject(directory: string, named?: Framework): Project {
  const packageFile = readPackageFile(directory)
  const framework = named ?? detectFramework(packageFile)
  const has = (path: string) => existsSync(join(directory, path))
  const tsconfig = has('tsconfig.json') ? readFileSync(join(directory, 'tsconfig.json'), 'utf8') : undefined
  const isTypeScript = tsconfig !== undefined
  const sourceFolder = findSourceFolder(directory, framework)
  const managers = {
    'pnpm-lock.yaml': 'pnpm',
    'yarn.lock': 'yarn',
    'bun.lock': 'bun',
    'bun.lockb': 'bun',
  } as const
  const lockfile = (Object.keys(managers) as (keyof typeof managers)[]).find(has)
  return {
    directory,
    packageFile,
    framework,
    isTypeScript,
    isEsm: isTypeScript || framework === 'next' || packageFile.type === 'module',
    importExtension: framework === 'next' ? '' : importsTsFiles(tsconfig) ? '.ts' : '.js',
    sourceFolder,
    packageManager: lockfile === undefined ? 'npm' : managers[lockfile],
  }
}

/** The folder of a package as Node finds it from this directory. */
export function findPackage(directory: string, name: string): string | undefined {
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return found
    if (folder === dirname(folder)) return undefined
  }
}

/** The file that creates the application, and the name that it has there. */
export interface Entry {
  readonly path: string
  readonly app: string
}

/** Looks for the file that creates the application, to say where the routes are mounted. */
export function findEntry({ directory, packageFile, framework }: Project): Entry | undefined {
  const { main, scripts } = packageFile
  const fromScripts = [scripts?.dev, scripts?.start].flatMap((line) =>
    [...(line ?? '').matchAll(/\S+\.[cm]?[jt]s\b/g)].map(([file]) => file),
  )
  const usual = ['server', 'app', 'index', 'main'].flatMap((name) =>
    ['ts', 'js', 'mjs', 'cjs'].flatMap((end) => [`src/${name}.${end}`, `${name}.${end}`]),
  )
  const candidates = [...fromScripts, ...(main === undefined ? [] : [main]), ...usual]
  for (const path of candidates.map((one) => posix.normalize(one))) {
    const file = join(directory, path)
    if (path.startsWith('..') || !existsSync(file) || !statSync(file).isFile()) continue
    const text = readFileSync(file, 'utf8')
    if (!new RegExp(`['"]${framework}['"]`).test(text)) continue
    const [, app = 'app'] =
      /(?:const|let|var)\s+([A-Za-z_$][\w$]*)[^=\n]*=\s*(?:express|fastify|new\s+Hono)\b/i.exec(text) ?? []
    return { path, app }
  }
  return undefined
}

function readPackageFile(directory: string): PackageFile {
  const file = join(directory, 'package.json')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new UsageError(
      `There is no package.json in ${directory}. Run this in your project, or name it with --project.`,
    )
  }
  try {
    const read = JSON.parse(text)
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read
  } catch {
    // Reported below.
  }
  throw new CommandError('package_unreadable', `${file} is not a JSON object. Correct it first.`)
}

function detectFramework({ dependencies, devDependencies }: PackageFile): Framework {
  const listed = { ...devDependencies, ...dependencies }
  // Next first: a project with Next may also have a server of its own.
  const found = (['next', 'fastify', 'hono', 'express'] as const).filter((name) =>
    Object.hasOwn(listed, name),
  )
  if (found.length === 1 || found[0] === 'next') return found[0] as Framework
  throw new UsageError(
    found.length === 0
      ? `package.json lists no framework that is known here. Name one: countersign add ${frameworks.join('|')}`
      : `package.json lists ${found.join(' and ')}. Name one: countersign add ${found[0]}`,
  )
}

function findSourceFolder(directory: string, framework: Framework): string {
  const isFolder = (path: string) => statSync(join(directory, path), { throwIfNoEntry: false })?.isDirectory()
  if (framework !== 'next') return isFolder('src') ? 'src' : ''
  if (isFolder('app')) return ''
  if (isFolder('src/app')) return 'src'
  throw new CommandError(
    'no_app_router',
    'There is neither app nor src/app. The route needs the app router of Next; for others see docs/guides/frameworks.md',
  )
}

/** A tsconfig.json may have comments, so it is searched instead of parsed. */
function importsTsFiles(tsconfig: string | undefined): boolean {
  return /"(?:allowImportingTsExtensions|rewriteRelativeImportExtensions)"\s*:\s*true/.test(tsconfig ?? '')
}
