import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const git = (...argv: string[]) =>
  execFileSync('git', argv, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

/** Whether this is a clone at all: an unpacked archive is not. */
export const isClone =
  spawnSync('git', ['rev-parse', '--git-dir'], { cwd: root, stdio: 'ignore' }).status === 0

/**
 * A clone of this repository with what has been changed in it and not been committed. Nothing that
 * git does not know comes along.
 */
export function cloneWorkingTree(folder: string): void {
  git('clone', '--quiet', '--depth', '1', `file://${root}`, folder)
  const changed = git('diff', '--name-only', '-z', '--diff-filter=d', 'HEAD').split('\0')
  for (const path of changed.filter((one) => one !== '')) cpSync(join(root, path), join(folder, path))
}

/** The same with the packages of this repository, so that no network is needed. */
export function makeFreshClone(folder: string): void {
  cloneWorkingTree(folder)
  // Versions that differ from those at the root.
  for (const path of globSync('packages/*/node_modules', { cwd: root }))
    cpSync(join(root, path), join(folder, path), { recursive: true, verbatimSymlinks: true })
  const packages = join(folder, 'node_modules')
  // Linked file by file, which takes a second; where that cannot be, package by package.
  if (spawnSync('cp', ['-al', join(root, 'node_modules'), packages]).status === 0) return
  mkdirSync(packages, { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')).filter((one) => one !== '@countersign'))
    symlinkSync(join(root, 'node_modules', name), join(packages, name))
  cpSync(join(root, 'node_modules/@countersign'), join(packages, '@countersign'), {
    recursive: true,
    verbatimSymlinks: true,
  })
}
