import { type ExitCode, type Given, UsageError } from '../command.ts'
import type { Terminal } from './output.ts'

export interface Removal {
  /** What is about to happen: `revoke all credentials of …`. */
  readonly act: string
  /** The same for programs. */
  readonly plan: Readonly<Record<string, unknown>>
  /** What is worth knowing before the answer. */
  readonly details?: readonly string[]
}

/**
 * Asks before access is revoked. Undefined: confirmed. A code: do not, and end with it. Throws a
 * `UsageError` when there is no terminal to ask and `--yes` was not given.
 */
export async function confirmRemoval(
  given: Given,
  at: Terminal,
  { act, plan, details = [] }: Removal,
): Promise<ExitCode | undefined> {
  if (given.has('dry-run')) {
    at.result({ dry_run: true, ...plan }, () => [`Would ${act}.`, ...details].join('\n'))
    at.note('Nothing was changed.')
    return 0
  }
  if (given.has('yes')) return undefined
  if (!at.canAsk)
    throw new UsageError(
      `About to ${act}. This revokes access and needs a confirmation: add --yes, or look first with --dry-run.`,
    )
  for (const detail of details) at.note(detail)
  if (await at.ask(`Really ${act}?`)) return undefined
  at.note('Nothing was changed.')
  return 1
}
