import { closeSync, openSync, writeFileSync } from 'node:fs'
import { Misuse } from './command.ts'

/**
 * Writes a new file that only its owner can read. Throws a `Misuse` when there is one already: a
 * key that is overwritten is gone.
 */
export function writeNewPrivate(file: string, text: string): void {
  let handle: number
  try {
    handle = openSync(file, 'wx', 0o600)
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException
    throw new Misuse(
      code === 'EEXIST'
        ? `${file} is there already; choose another name`
        : `${file} cannot be written (${code ?? 'unknown reason'})`,
    )
  }
  try {
    writeFileSync(handle, text)
  } finally {
    closeSync(handle)
  }
}
