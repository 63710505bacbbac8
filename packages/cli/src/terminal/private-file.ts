import { closeSync, openSync, writeFileSync } from 'node:fs'
import { UsageError } from '../command.ts'

/**
 * Writes a new file that only its owner can read. Throws a `UsageError` when the file exists,
 * because an overwritten key cannot be recovered.
 */
export function writeNewPrivate(file: string, text: string): void {
  let handle: number
  try {
    handle = openSync(file, 'wx', 0o600)
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException
    throw new UsageError(
      code === 'EEXIST'
        ? `${file} exists already; choose another name`
        : `${file} cannot be written (${code ?? 'unknown reason'})`,
    )
  }
  try {
    writeFileSync(handle, text)
  } finally {
    closeSync(handle)
  }
}
