import { spawnSync } from 'node:child_process'
import { CommandError } from '../command.ts'
import type { Framework } from './project.ts'

/** What the guard reads from its environment. */
export interface GuardEnvironment {
  readonly url: string
  readonly site: string
  /** Empty: the person adds it. */
  readonly apiKey: string
  readonly publicOrigin?: string | undefined
}

/** Next loads `.env.local` itself. Elsewhere the guard loads a file of its own. */
export function chooseEnvFile(framework: Framework): string {
  return framework === 'next' ? '.env.local' : '.env.countersign'
}

export const hasGuardVariables = (text: string): boolean => /^COUNTERSIGN_API_KEY=/m.test(text)

const HEADING = '# Written by countersign add. Keep this file out of version control.'
const OWN_LINE =
  /^(?:COUNTERSIGN_(?:URL|SITE|API_KEY|PUBLIC_ORIGIN)=.*|# Written by countersign add\..*)(?:\r?\n|$)/gm

/** The text of the environment file: other lines stay, variables of an earlier run are replaced. */
export function environmentText(
  before: string,
  { url, site, apiKey, publicOrigin }: GuardEnvironment,
): string {
  const values = {
    COUNTERSIGN_URL: url,
    COUNTERSIGN_SITE: site,
    COUNTERSIGN_API_KEY: apiKey,
    ...(publicOrigin === undefined ? {} : { COUNTERSIGN_PUBLIC_ORIGIN: publicOrigin }),
  }
  for (const [name, value] of Object.entries(values))
    if (!/^[\w.:/[\]-]*$/.test(value))
      throw new CommandError('value_unsafe', `${name} has characters that an environment file cannot hold`)
  const rest = before.replaceAll(OWN_LINE, '').trimEnd()
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}`)
  return `${rest === '' ? '' : `${rest}\n\n`}${[HEADING, ...lines].join('\n')}\n`
}

/** Throws a `CommandError` if git tracks the file, because it will contain a key. */
export function requireUntracked(directory: string, file: string): void {
  if (git(directory, 'ls-files', '--error-unmatch', '--', file) !== 0) return
  throw new CommandError(
    'file_tracked',
    `git tracks ${file}, and it would contain an API key. Remove it from version control first: git rm --cached ${file}`,
  )
}

/** The text of .gitignore with this file, or undefined if the file is ignored already. */
export function ignoreText(directory: string, before: string, file: string): string | undefined {
  if (before.split(/\r?\n/).some((line) => line.trim() === file || line.trim() === `/${file}`))
    return undefined
  if (git(directory, 'check-ignore', '--quiet', '--', file) === 0) return undefined
  return `${before === '' || before.endsWith('\n') ? before : `${before}\n`}${file}\n`
}

/** The exit code; null without git. */
function git(directory: string, ...argv: string[]): number | null {
  return spawnSync('git', argv, { cwd: directory, stdio: 'ignore' }).status
}
