import type { Terminal } from './terminal/output.ts'

/**
 * 0: success. 1: failure. 2: usage error. 3: a check failed. 4: access denied. 5: the service could
 * not be reached.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5

/** The flags as the help prints them, their meaning, and `list` if the option may be repeated. */
export type Option = readonly [flags: string, what: string, kind?: 'list']

/**
 * Options that several commands share. `service`: the address and the API key. `site`: the site.
 * `credential`: the credential to present. `removal`: the command revokes, deletes or replaces
 * something, so it asks for confirmation.
 */
export type Shared = 'service' | 'site' | 'credential' | 'removal'

/**
 * One operation of the command line. Its file loads heavy modules lazily, so that help appears at
 * once.
 */
export interface Verb {
  /** The arguments in order: `<required>`, `[optional]`, and `...` for a repeated last one. */
  readonly words?: readonly (readonly [word: `${'<' | '['}${string}`, what: string])[]
  readonly options?: readonly Option[]
  readonly shares?: readonly Shared[]
  /** Commands to paste, and what they do. The help starts with them. */
  readonly examples: readonly (readonly [command: string, what: string])[]
  /** What the command does, and what it does on failure. One paragraph each. */
  readonly about?: readonly string[]
  /** Whether flags that are not declared here are settings of the service. */
  readonly takesSettings?: boolean
  /** Throws on failure; `run.ts` turns the error into a message and an exit code. */
  run(given: Given, at: Terminal): Promise<ExitCode>
}

/** A command with subcommands, such as `sites`. */
export interface Group {
  /** The subcommand that runs when the command line names none. */
  readonly standard?: string
  readonly verbs: Readonly<Record<string, Verb & { readonly summary: string }>>
}

/**
 * The arguments and options of a command line. Reading an option that the command does not declare
 * throws a TypeError.
 */
export interface Given {
  /** Empty for an optional argument that was not given. */
  word(index: number): string
  readonly words: readonly string[]
  text(name: string): string | undefined
  list(name: string): readonly string[]
  has(name: string): boolean
  /** Settings of the service given as flags, without the leading dashes. Undefined: no value. */
  readonly settings: readonly (readonly [name: string, value: string | undefined])[]
  /** Throws a `UsageError` for anything but a whole number within the bounds. */
  integer(name: string, bounds: { readonly min: number; readonly max: number }): number | undefined
}

/** The command line is wrong. The message says what to correct. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command failed. The message says what to do next; `code` is for programs. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exit: ExitCode
  readonly code: string

  constructor(code: string, message: string, exit: ExitCode = 1) {
    super(message)
    this.code = code
    this.exit = exit
  }
}
