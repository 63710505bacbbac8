import { run as runCommandLine } from '../../../cli/src/run.ts'
import { readGeneralFlags } from '../../../cli/src/terminal/general-flags.ts'
import { createTerminal } from '../../../cli/src/terminal/output.ts'
import { MASTER_KEY_HEX } from '../store/fixtures.ts'

export interface Ran {
  readonly code: number
  /** What went to the standard output. */
  readonly said: string
  readonly noted: string
}

/**
 * Runs `countersign` in this process, with nothing of its environment but the master key of test
 * stores. Every question is answered with yes.
 */
export async function run(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = { COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX },
): Promise<Ran> {
  let [said, noted] = ['', '']
  const terminal = createTerminal({
    env,
    stdin: process.stdin,
    stdout: { write: (text: string) => (said += text) } as never,
    stderr: { write: (text: string) => (noted += text) } as never,
    ...readGeneralFlags(argv, env),
    hasColor: false,
  })
  const code = await runCommandLine(argv, { ...terminal, canAsk: true, ask: async () => true })
  return { code, said: said.trimEnd(), noted: noted.trimEnd() }
}
