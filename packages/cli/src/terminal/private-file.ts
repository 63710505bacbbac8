import { closeSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { CommandError, type Given, UsageError } from '../command.ts'
import type { Terminal } from './output.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface SecretResult {
  /** The result with its secret. */
  readonly whole: object
  readonly secret: string
  /** What is printed instead when the secret goes to a file. */
  readonly rest: object
  readonly id: string
}

/**
 * Creates something with a secret and prints it, or with `--out` writes the secret to a new private
 * file and prints the rest. The file is opened before `create` runs: if that is impossible, it
 * throws a `UsageError` and nothing is created. It is removed again if `create` fails, or a signal
 * ends the process before.
 */
export async function printNewSecret<Made>(
  given: Given,
  at: Terminal,
  create: () => Promise<Made>,
  toResult: (made: Made) => SecretResult,
): Promise<Made> {
  const file = given.text('out')
  const opened = file === undefined ? undefined : openNewPrivate(file)
  const interrupt = (signal: NodeJS.Signals) => {
    opened?.remove()
    at.note(
      `Interrupted, so ${file} was removed. The service may have created something without it: look at the list, and delete or revoke it.`,
    )
    // Without this listener, the signal ends the process.
    process.kill(process.pid, signal)
  }
  if (opened !== undefined) for (const signal of SIGNALS) process.once(signal, interrupt)
  const made = await create()
    .catch((fault: unknown) => {
      opened?.remove()
      throw fault
    })
    .finally(() => {
      for (const signal of SIGNALS) process.off(signal, interrupt)
    })
  const { whole, secret, rest, id } = toResult(made)
  opened?.write(
    `${secret}\n`,
    `The secret of ${id} is lost. Delete or revoke ${id}, or rotate its secret, then try again.`,
  )
  at.result(file === undefined ? whole : { ...rest, file }, () => (file === undefined ? secret : id))
  return made
}

/** A new file that is open and still empty. Either method closes it. */
interface NewPrivateFile {
  /**
   * When it fails, such as on a full disk, it removes the file and throws a `CommandError`, whose
   * message ends with `next`: what to do then.
   */
  write(text: string, next: string): void
  remove(): void
}

/**
 * Creates a file that only its owner can read. Throws a `UsageError` when the file exists, because
 * an overwritten key cannot be recovered, or when it cannot be created.
 */
export function openNewPrivate(file: string): NewPrivateFile {
  const handle = openOrExplain(file)
  const remove = () => {
    closeSync(handle)
    rmSync(file, { force: true })
  }
  return {
    write(text, next) {
      try {
        writeFileSync(handle, text)
      } catch (fault) {
        remove()
        throw new CommandError('file_not_written', `${file} cannot be written (${readCode(fault)}). ${next}`)
      }
      closeSync(handle)
    },
    remove,
  }
}

function openOrExplain(file: string): number {
  try {
    return openSync(file, 'wx', 0o600)
  } catch (fault) {
    throw new UsageError(explainOpen(file, readCode(fault)))
  }
}

function explainOpen(file: string, code: string): string {
  if (file === '') return 'The name of the file is empty, so nothing was created. Give a name.'
  if (code === 'EISDIR' || (code === 'EEXIST' && isDirectory(file)))
    return `${file} is a directory, so nothing was created. Give the name of a new file.`
  if (code === 'EEXIST') return `${file} exists already, so nothing was created. Choose another name.`
  if (code === 'ENOENT')
    return `The directory ${dirname(file)} does not exist, so nothing was created. Create it, or choose another name.`
  return `${file} cannot be written (${code}), so nothing was created. Choose another name.`
}

const isDirectory = (file: string) => statSync(file, { throwIfNoEntry: false })?.isDirectory() === true

const readCode = (fault: unknown): string => (fault as NodeJS.ErrnoException).code ?? 'unknown reason'
