import type { Config } from '../config.ts'
import type { SettingSources } from '../settings.ts'

/** 0: done. 1: failed. 2: usage error. 3: a check failed. */
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
  /**
   * Where the store is, and nothing else: no address and no master key are needed. Throws a
   * `Misuse`.
   */
  store(): Config['store']
  /** The file that keeps signed heads outside the store, if there is one. Throws a `Misuse`. */
  headFile(): Config['headFile']
  /** All that was given of settings, for a command that reads them in a way of its own. */
  readonly sources: SettingSources
  /** The master key, and nothing else. Throws a `Misuse`. */
  masterKey(): Uint8Array
  /** The key that is to take its place, which has variables of its own. Throws a `Misuse`. */
  newMasterKey(): Uint8Array
  /** The result: words for people, and with `--json` the same as facts for programs. */
  readonly say: (text: string, facts: Facts) => void
  /**
   * How far long work has got: entries done, of how many. Does nothing when there is no terminal.
   */
  readonly progress: (done: number, total: number) => void
  /** What is worth knowing beside the result. */
  readonly note: (text: string) => void
}

/**
 * A result for programs. Its members have the names of the HTTP interface, so that a script reads
 * both in one way.
 */
export type Facts = Readonly<Record<string, unknown>>

/** A usage error; the message says what is wrong. */
export class Misuse extends Error {
  override readonly name = 'Misuse'
}

/** What reads settings throws a TypeError for invalid ones; here that is a `Misuse`. */
export function orMisuse<T>(read: () => T): T {
  try {
    return read()
  } catch (fault) {
    throw fault instanceof TypeError ? new Misuse(fault.message, { cause: fault }) : fault
  }
}
