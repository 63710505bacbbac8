import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { CommandError, UsageError } from '../command.ts'
import { chooseDependencies, packageText } from './dependencies.ts'
import {
  chooseEnvFile,
  environmentText,
  type GuardEnvironment,
  hasGuardVariables,
  ignoreText,
  requireUntracked,
} from './environment.ts'
import type { Project } from './project.ts'
import { createSources, type RouteChoice } from './source-text.ts'

/** One file of the project that changes, or stays although it is part of the result. */
interface Change {
  readonly kind: 'source' | 'environment' | 'ignore' | 'package'
  readonly path: string
  readonly action: 'create' | 'overwrite' | 'change' | 'keep'
  readonly what: string
  /** Undefined for the environment file, whose text has the key. */
  readonly text?: string
}

export interface Plan {
  readonly changes: readonly Change[]
  /** Whether the environment file is written. */
  readonly needsKey: boolean
}

export interface PlanOptions {
  readonly route: RouteChoice
  readonly tarballs?: string | undefined
  readonly isForced: boolean
}

/** Throws a `UsageError` for a path or scope that the generated code cannot contain. */
export function readRoute(path: string, scope: string): RouteChoice {
  if (!/^(?:\/[a-z0-9][a-z0-9_-]*)+$/i.test(path))
    throw new UsageError('--path must be a path of letters, digits, - and _, such as /orders')
  if (!/^[a-z0-9][a-z0-9:._/-]*$/.test(scope))
    throw new UsageError('--scope must be one scope, such as orders:read')
  return { path, scope }
}

/**
 * Decides what to write. Writes nothing. Throws a `CommandError` when a file would be overwritten
 * without `--force`, when git tracks the environment file, or when a path leaves the project.
 */
export function planChanges(project: Project, { route, tarballs, isForced }: PlanOptions): Plan {
  const { directory, framework } = project
  const envFile = chooseEnvFile(framework)
  requireUntracked(directory, envFile)
  const sources = createSources(project, envFile, route).map(({ path, text, what }): Change => {
    const before = readOwn(directory, path)
    const action = before === undefined ? 'create' : before === text ? 'keep' : 'overwrite'
    return { kind: 'source', path, action, what, text }
  })
  const inTheWay = sources.filter(({ action }) => action === 'overwrite').map(({ path }) => path)
  if (inTheWay.length > 0 && !isForced)
    throw new CommandError(
      'file_exists',
      `${inTheWay.join(' and ')} exist${inTheWay.length === 1 ? 's' : ''} already, and nothing was changed. Overwrite with --force, or choose another --path.`,
    )
  const environmentBefore = readOwn(directory, envFile)
  const needsKey = isForced || !hasGuardVariables(environmentBefore ?? '')
  const ignoreBefore = readOwn(directory, '.gitignore')
  const ignored = ignoreText(directory, ignoreBefore ?? '', envFile)
  const added = chooseDependencies(directory, project.packageFile, tarballs)
  const packageBefore = readOwn(directory, 'package.json') ?? '{}'
  return {
    needsKey,
    changes: [
      ...sources,
      ...(ignored === undefined
        ? []
        : [
            {
              kind: 'ignore',
              path: '.gitignore',
              action: ignoreBefore === undefined ? 'create' : 'change',
              what: `adds ${envFile}`,
              text: ignored,
            } satisfies Change,
          ]),
      {
        kind: 'environment',
        path: envFile,
        action: !needsKey ? 'keep' : environmentBefore === undefined ? 'create' : 'change',
        what: needsKey ? 'address, site and an API key for the guard' : 'has an API key already',
      },
      ...(Object.keys(added).length === 0
        ? []
        : [
            {
              kind: 'package',
              path: 'package.json',
              action: 'change',
              what: `adds ${Object.keys(added).join(' and ')}`,
              text: packageText(packageBefore, added),
            } satisfies Change,
          ]),
    ],
  }
}

/**
 * Throws a `CommandError` if a file of the plan cannot be written. It comes before the API key is
 * created, because a key that no file contains would stay. An environment file that exists becomes
 * unreadable for other users, as a new one is.
 */
export function requireWritable({ directory }: Project, { changes }: Plan): void {
  for (const { kind, path, action } of changes) {
    if (action === 'keep') continue
    const file = join(directory, path)
    const place = find(file) === undefined ? findFolder(file) : file
    try {
      accessSync(place, constants.W_OK)
      if (kind === 'environment' && place === file) chmodSync(file, 0o600)
    } catch (fault) {
      const { code } = fault as NodeJS.ErrnoException
      throw new CommandError(
        'file_not_written',
        `${path} cannot be written (${code}), so nothing was changed. Give this user write access to ${place}.`,
      )
    }
  }
}

/** The nearest folder of the file that exists. */
function findFolder(file: string): string {
  const folder = dirname(file)
  return find(folder) === undefined ? findFolder(folder) : folder
}

/** Undefined if there is no such file, or a file is in place of its folder. */
function find(file: string): Stats | undefined {
  try {
    return lstatSync(file)
  } catch (fault) {
    if (['ENOENT', 'ENOTDIR'].includes((fault as NodeJS.ErrnoException).code ?? '')) return undefined
    throw fault
  }
}

/** Writes the files in the order of the plan: the key only after .gitignore names its file. */
export function writeChanges(
  { directory }: Project,
  { changes }: Plan,
  environment: GuardEnvironment | undefined,
): void {
  for (const { path, action, text } of changes) {
    if (action === 'keep') continue
    const file = join(directory, path)
    const isSecret = text === undefined
    if (isSecret && environment === undefined) continue
    mkdirSync(dirname(file), { recursive: true })
    const whole = isSecret
      ? environmentText(readOwn(directory, path) ?? '', environment as GuardEnvironment)
      : text
    writeFileSync(file, whole, isSecret ? { mode: 0o600 } : {})
  }
}

/**
 * The text of a file of the project; undefined if there is none. A link could lead a key out of the
 * project, so neither the file nor its folder may be one that does.
 */
function readOwn(directory: string, path: string): string | undefined {
  const file = join(directory, path)
  const found = find(file)
  const folder = realpathSync(findFolder(file))
  const isOutside = relative(realpathSync(directory), folder).startsWith('..')
  if (isOutside || !lstatSync(folder).isDirectory() || (found !== undefined && !found.isFile()))
    throw new CommandError(
      'not_a_file',
      `${path} is not an ordinary file of the project. Nothing was changed.`,
    )
  return found === undefined ? undefined : readFileSync(file, 'utf8')
}
