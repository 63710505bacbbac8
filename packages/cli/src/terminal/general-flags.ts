/** Flags that apply before a command is found, for example to print that it does not exist. */
export interface GeneralFlags {
  readonly isJson: boolean
  readonly hasColor: boolean
  readonly hasInput: boolean
}

/** Reads the flags that every command has, anywhere before a `--`. */
export function readGeneralFlags(argv: readonly string[], env: NodeJS.ProcessEnv): GeneralFlags {
  const end = argv.indexOf('--')
  const flags = new Set(end === -1 ? argv : argv.slice(0, end))
  return {
    isJson: flags.has('--json'),
    // https://no-color.org: set and not empty.
    hasColor: !flags.has('--no-color') && !env.NO_COLOR,
    hasInput: !flags.has('--no-input'),
  }
}
