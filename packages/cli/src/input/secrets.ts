import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { CommandError, UsageError } from '../command.ts'

const BYTES_MAX = 1024 * 1024
/**
 * As strict as the service with its own files: the group may read a file, because containers mount
 * secrets that way; other users may not.
 */
const OTHERS = 0o037

/** Reads a file, or standard input for `-`. Throws a `UsageError` if it cannot be read. */
export async function readTextFrom(file: string, what: string): Promise<string> {
  if (file === '-') return readStdin(what)
  rejectInline(file, what)
  try {
    const handle = openSync(file, 'r')
    try {
      if (fstatSync(handle).size > BYTES_MAX) throw new UsageError(`${file} is too large for ${what}`)
      return readFileSync(handle, 'utf8')
    } finally {
      closeSync(handle)
    }
  } catch (fault) {
    throw fault instanceof UsageError
      ? fault
      : new UsageError(
          `${what.charAt(0).toUpperCase()}${what.slice(1)} cannot be read from ${file} (${(fault as NodeJS.ErrnoException).code ?? 'unknown reason'}). Check the path.`,
        )
  }
}

/**
 * Reads a secret. Throws a `CommandError` if other users can read the file: the secret may have
 * leaked already.
 */
export async function readSecretFrom(file: string, what: string): Promise<string> {
  if (file !== '-') {
    rejectInline(file, what)
    requirePrivate(file, what)
  }
  return (await readTextFrom(file, what)).trim()
}

function requirePrivate(file: string, what: string): void {
  let mode: number
  try {
    const handle = openSync(file, 'r')
    mode = fstatSync(handle).mode
    closeSync(handle)
  } catch {
    return // The caller reads the file next, and reports why it cannot be read.
  }
  if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
    throw new CommandError(
      'file_mode',
      `${file} contains ${what}, and other users can read it (mode ${(mode & 0o777).toString(8)}). Make it private: chmod 600 ${file}`,
    )
}

/**
 * Every user of a machine can read command lines, and shells store them. The message does not
 * repeat the secret.
 */
function rejectInline(given: string, what: string): void {
  if (/^\s*(?:svc_(?:at|sk)_|whsec_|\{|eyJ)/.test(given))
    throw new UsageError(
      `${what} must not be on the command line, where other users can read it. Name a file, or - for standard input.`,
    )
}

async function readStdin(what: string): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write(`Reading ${what} from the terminal; end with Ctrl-D.\n`)
  return text(process.stdin)
}
