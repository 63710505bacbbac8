import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findPackage, type Project } from './project.ts'

export interface BuildCheck {
  readonly result: 'passed' | 'failed' | 'skipped'
  /** The command that ran, or that can be run later. */
  readonly command: string
  /** What it printed if it failed, or why it was skipped. */
  readonly details: string
}

const CHECK_MS_MAX = 10 * 60_000
const DETAILS_LENGTH_MAX = 4000

/** Checks that the project builds with the new files, with its own tools. */
export function checkBuild(project: Project, paths: readonly string[]): BuildCheck {
  const { directory, framework, isTypeScript } = project
  const tool = (name: string, bin: string, argv: string) => ({
    command: `npx ${argv}`,
    file: join(findPackage(directory, name) ?? '', bin),
    isInstalled: findPackage(directory, name) !== undefined,
    argv: argv.split(' ').slice(1),
  })
  if (framework !== 'next' && !isTypeScript) return checkSyntax(directory, paths)
  const { command, file, isInstalled, argv } =
    framework === 'next'
      ? tool('next', 'dist/bin/next', 'next build')
      : tool('typescript', 'bin/tsc', 'tsc --noEmit -p .')
  const missing = isInstalled ? '@countersign/sdk' : framework === 'next' ? 'next' : 'typescript'
  if (!isInstalled || findPackage(directory, '@countersign/sdk') === undefined || !existsSync(file))
    return { result: 'skipped', command, details: `${missing} is not installed yet` }
  return run(directory, command, [file, ...argv])
}

function checkSyntax(directory: string, paths: readonly string[]): BuildCheck {
  for (const path of paths) {
    const check = run(directory, `node --check ${path}`, ['--check', path])
    if (check.result === 'failed') return check
  }
  return { result: 'passed', command: 'node --check', details: '' }
}

function run(directory: string, command: string, argv: readonly string[]): BuildCheck {
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    cwd: directory,
    encoding: 'utf8',
    timeout: CHECK_MS_MAX,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' },
  })
  if (status === 0) return { result: 'passed', command, details: '' }
  return { result: 'failed', command, details: `${stdout}${stderr}`.trim().slice(0, DETAILS_LENGTH_MAX) }
}
