import type { Config } from '../config.ts'

/** 0: done. 1: it failed. 2: it was asked for in the wrong way. 3: it was checked, and does not hold. */
export type ExitCode = 0 | 1 | 2 | 3

/** One operation of the command line. */
export interface Command {
  /** For the list of all commands: a few words. */
  readonly summary: string
  /** Of its words, in order; those in brackets may be left out. */
  readonly words: readonly `${'<' | '['}${string}`[]
  /** Flags without a value. */
  readonly switches?: readonly string[]
  /** A command to paste and what it does. Help opens with them. */
  readonly examples: readonly (readonly [command: string, what: string])[]
  /** What it promises and what it does when it cannot, a paragraph each. */
  readonly about: readonly string[]
  /** Throws what went wrong; `runCommand` turns it into words and a code. */
  run(given: Given): Promise<ExitCode>
}

/** What a command was given, and where it may write. */
export interface Given {
  readonly words: readonly string[]
  readonly switches: ReadonlySet<string>
  /** All settings. Throws a `Misuse` that names every mistake. */
  config(): Config
  /** Where the store is, and nothing else: no address and no master key are needed. Throws a `Misuse`. */
  store(): Config['store']
  /** The result, for people and pipes. */
  readonly say: (text: string) => void
  /** What is worth knowing beside the result. */
  readonly note: (text: string) => void
}

/** A command was asked for in the wrong way; the message says how. */
export class Misuse extends Error {
  override readonly name = 'Misuse'
}
