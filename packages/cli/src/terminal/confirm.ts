import { type ExitCode, type Given, UsageError } from '../command.ts'
import type { Terminal } from './output.ts'

export interface Removal {
  /** What the command will do: `revoke all credentials of …`. */
  readonly act: string
  /** The same for programs. */
  readonly plan: Readonly<Record<string, unknown>>
  /** Facts that help to decide. */
  readonly details?: readonly string[]
}

/**
 * Asks for confirmation before something is revoked, deleted or replaced. Returns undefined if
 * confirmed, otherwise the exit code to end with. Throws a `UsageError` when it cannot ask and
 * `--yes` was not given.
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
      `This command would ${act}, so it needs a confirmation. Add --yes to confirm, or --dry-run to see what it would do.`,
    )
  for (const detail of details) at.note(detail)
  if (await at.ask(`Really ${act}?`)) return undefined
  at.note('Nothing was changed.')
  return 1
}
