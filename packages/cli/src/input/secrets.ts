import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { CommandError, UsageError } from '../command.ts'

/** Larger than anything that is read here. */
const BYTES_MAX = 1024 * 1024
/**
 * As strict as the service is with its own files: a group may read what is mounted into containers,
 * other users may not.
 */
const OTHERS = 0o037

/**
 * Reads the text of a file, or of the standard input for `-`. Throws a `UsageError` if it cannot be
 * read.
 */
export async function readTextFrom(file: string, what: string): Promise<string> {
  if (file === '-') return readStdin(what)
  refuseInline(file, what)
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
          `${what} cannot be read from ${file} (${(fault as NodeJS.ErrnoException).code ?? 'unknown reason'})`,
        )
  }
}

/**
 * The same for what must stay secret: a file that others can read is refused, since that may have
 * happened already.
 */
export async function readSecretFrom(file: string, what: string): Promise<string> {
  if (file !== '-') {
    refuseInline(file, what)
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
    return // Reading it says why it cannot be read.
  }
  if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
    throw new CommandError(
      'file_mode',
      `${file} holds ${what}, and others can read it (mode ${(mode & 0o777).toString(8)}): chmod 600 it`,
    )
}

/**
 * Every user of a machine can read command lines, and shells keep them. The words do not repeat the
 * secret.
 */
function refuseInline(given: string, what: string): void {
  if (/^\s*(?:svc_(?:at|sk)_|whsec_|\{|eyJ)/.test(given))
    throw new UsageError(
      `${what} must not stand on the command line, where others can read it: name a file, or - for the standard input`,
    )
}

async function readStdin(what: string): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write(`Reading ${what} from the terminal; end with Ctrl-D.\n`)
  return text(process.stdin)
}
