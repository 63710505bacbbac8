import { closeSync, openSync, writeFileSync } from 'node:fs'
import { type Given, UsageError } from '../command.ts'
import type { Terminal } from './output.ts'

export interface SecretResult {
  /** The result with its secret. */
  readonly whole: object
  readonly secret: string
  /** What is printed instead when the secret goes to a file. */
  readonly rest: object
  readonly id: string
}

/** Prints a secret, or with `--out` writes it to a new private file and prints the rest. */
export function printSecret(given: Given, at: Terminal, { whole, secret, rest, id }: SecretResult): void {
  const file = given.text('out')
  if (file !== undefined) writeNewPrivate(file, `${secret}\n`)
  at.result(file === undefined ? whole : { ...rest, file }, () => (file === undefined ? secret : id))
}

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
