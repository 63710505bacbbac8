import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** Whatever looks like a secret of ours, also inside the message of an error of other code. */
const SECRETS =
  /svc_(?:sk|at)_[0-9A-Za-z]+|whsec_[0-9A-Za-z+/=_-]+|\bey[JIK][0-9A-Za-z_-]{16,}|(?<=:\/\/[^\s:/@]*:)[^\s@/]+(?=@)/g

/**
 * The log of the process: one line of JSON each. Errors are written with their name, message and
 * stack only, because drivers hang queries and values on them, and with secrets cut out.
 */
export function createLogger(level: Config['logLevel'], destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: plainError },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}

interface PlainError {
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: PlainError
}

const CAUSES_MAX = 4

function plainError(error: unknown, depth = 0): PlainError {
  if (!(error instanceof Error)) return { type: typeof error, message: scrub(String(error)) }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const stack = error.stack === undefined ? {} : { stack: scrub(error.stack) }
  const cause =
    error.cause !== undefined && depth < CAUSES_MAX ? { cause: plainError(error.cause, depth + 1) } : {}
  return { type: error.name, message: scrub(error.message), ...code, ...stack, ...cause }
}

function scrub(text: string): string {
  return text.replace(SECRETS, '…')
}
