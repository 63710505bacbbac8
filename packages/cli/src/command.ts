import type { Terminal } from './terminal/output.ts'

/**
 * 0: done. 1: failed. 2: usage error. 3: a check failed. 4: the caller was denied. 5: the service
 * could not be reached.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5

/**
 * Flags as they stand in the help, what they mean, and `list` for one that may be given several
 * times.
 */
export type Option = readonly [flags: string, what: string, kind?: 'list']

/**
 * Options that several commands share. `service`: where to call, and with which key. `site`: which
 * site it is about. `credential`: which credential to show. `removal`: it revokes access, so it
 * asks first.
 */
export type Shared = 'service' | 'site' | 'credential' | 'removal'

/**
 * One operation of the command line. Its file imports nothing heavy at the top: help has to be
 * there at once, and a call of the service must not wait for what only others need.
 */
export interface Verb {
  /** In order; those in square brackets may be left out, and the last may go on with `...`. */
  readonly words?: readonly (readonly [word: `${'<' | '['}${string}`, what: string])[]
  readonly options?: readonly Option[]
  readonly shares?: readonly Shared[]
  /** A command to paste and what it does. Help opens with them. */
  readonly examples: readonly (readonly [command: string, what: string])[]
  /** What it promises and what it does when it cannot, a paragraph each. */
  readonly about?: readonly string[]
  /** Flags that it does not declare are settings of the service, which checks their names. */
  readonly takesSettings?: boolean
  /** Throws what went wrong; `run.ts` turns it into words and a code. */
  run(given: Given, at: Terminal): Promise<ExitCode>
}

/** A noun with verbs of its own, such as `sites`. */
export interface Group {
  readonly verbs: Readonly<Record<string, Verb & { readonly summary: string }>>
}

/**
 * What a command was given. Asking for an option that it does not have is a TypeError: a mistake of
 * ours.
 */
export interface Given {
  /** A missing one is an empty text: those that must be there are. */
  word(index: number): string
  readonly words: readonly string[]
  text(name: string): string | undefined
  list(name: string): readonly string[]
  has(name: string): boolean
  /** Settings of the service that were given as flags, without their dashes. */
  readonly settings: readonly (readonly [name: string, value: string])[]
  /** Throws a `UsageError` for anything but a whole number within the bounds. */
  integer(name: string, bounds: { readonly min: number; readonly max: number }): number | undefined
}

/** A usage error; the message says what is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** It could not be done. The message says what to do next; `code` is for programs. */
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
