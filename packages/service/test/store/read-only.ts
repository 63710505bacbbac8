import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'

/**
 * Makes a directory read-only until the returned function is called. The modes of files do not
 * limit root, so root mounts it read-only. Undefined where that is not possible.
 */
export function makeReadOnly(directory: string): (() => void) | undefined {
  if (process.getuid?.() !== 0) {
    chmodSync(directory, 0o500)
    return () => chmodSync(directory, 0o700)
  }
  try {
    execFileSync('mount', ['--bind', directory, directory], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  execFileSync('mount', ['-o', 'remount,bind,ro', directory])
  return () => execFileSync('umount', ['-l', directory])
}
