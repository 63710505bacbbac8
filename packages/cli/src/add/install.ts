import { spawnSync } from 'node:child_process'
import { CommandError } from '../command.ts'
import type { Terminal } from '../terminal/output.ts'
import type { Project } from './project.ts'

/** Installs with the package manager of the project. Throws a `CommandError` when it fails. */
export function install({ directory, packageManager }: Project, at: Terminal): true {
  at.note(`${packageManager} install …`)
  const { status } = spawnSync(packageManager, ['install'], {
    cwd: directory,
    // The result of this command goes to standard output, so the installer writes to the other.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (status === 0) return true
  throw new CommandError(
    'install_failed',
    `${packageManager} install failed. The files are written; correct the problem, then run it again in ${directory}`,
  )
}
