import { runCommand } from '../../src/commands/run-command.ts'
import { MASTER_KEY_HEX } from '../store/fixtures.ts'

export interface Ran {
  readonly code: number
  /** What went to the standard output. */
  readonly said: string
  readonly noted: string
}

/**
 * Runs a command in this process, with nothing of its environment but the master key of test
 * stores.
 */
export async function run(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = { COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX },
): Promise<Ran> {
  const said: string[] = []
  const noted: string[] = []
  const code = await runCommand(argv, {
    env,
    say: (text) => said.push(text),
    note: (text) => noted.push(text),
  })
  return { code, said: said.join('\n'), noted: noted.join('\n') }
}
