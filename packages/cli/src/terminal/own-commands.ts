/** How a person runs this command line, which is not on the path of a clone or after npx. */
export interface OwnCommands {
  /** Starts the development service. */
  readonly start: string
  readonly countersign: string
  /** Whether it runs from the sources of a clone. Its commands then work only there. */
  readonly isClone: boolean
}

/** By the URL of a module of this package: only a clone has sources in TypeScript. */
export function chooseCommands(moduleUrl: string): OwnCommands {
  return moduleUrl.endsWith('.ts')
    ? { start: 'npm start --', countersign: 'npm run -s countersign --', isClone: true }
    : { start: 'npx @countersign/cli dev', countersign: 'npx @countersign/cli', isClone: false }
}

/** For commands that are printed to be pasted. */
export const OWN_COMMANDS: OwnCommands = chooseCommands(import.meta.url)
