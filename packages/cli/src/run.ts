import type { ExitCode } from './command.ts'
import { findRow, sections } from './commands/all.ts'
import { overview } from './overview.ts'
import { describeError } from './terminal/describe-error.ts'
import { jsonText, type Terminal } from './terminal/output.ts'

const isHelp = (word: string | undefined) => word === '--help' || word === '-h' || word === 'help'

/**
 * Does what a command line asks for. Never throws: everything that goes wrong becomes words and a
 * code.
 */
export async function run(argv: readonly string[], at: Terminal): Promise<ExitCode> {
  try {
    return await dispatch(argv, at)
  } catch (fault) {
    const { exit, code, lines, requestId } = describeError(fault)
    at.progress(undefined)
    if (at.isJson)
      at.note(
        jsonText({ error: { code, message: lines.join('\n'), request_id: requestId }, exit_code: exit }),
      )
    else
      at.note(
        [
          at.paint('red', lines[0] ?? '', 'note'),
          ...lines.slice(1),
          ...(requestId === undefined ? [] : [`request ${requestId}`]),
        ].join('\n'),
      )
    return exit
  }
}

async function dispatch(argv: readonly string[], at: Terminal): Promise<ExitCode> {
  const [name, ...rest] = argv
  if (isHelp(name) && (rest[0] === undefined || rest[0].startsWith('-'))) {
    at.line(overview())
    return 0
  }
  if (name === 'help') return dispatch([...rest, '--help'], at)
  if (name === '--version' || name === '-V') {
    at.line((await import('./version.ts')).VERSION)
    return 0
  }
  const row = name === undefined ? undefined : findRow(name)
  const { UsageError } = await import('./command.ts')
  if (name === undefined) throw new UsageError(overview())
  if (row === undefined)
    throw new UsageError(
      `There is no command ${JSON.stringify(name)}.${likely(name)} All of them: countersign --help`,
    )
  const [, summary, load] = row
  const [{ parse }, command] = await Promise.all([import('./parse.ts'), load()])
  const parsed = parse(name, command, summary, rest)
  if ('help' in parsed) {
    at.line(parsed.help)
    return 0
  }
  return parsed.verb.run(parsed.given, at)
}

/** ` Did you mean revoke-user?`, or nothing. */
function likely(name: string): string {
  const names = sections.flatMap(([, rows]) => rows.map(([each]) => each))
  const [best] = names
    .map((each) => [each, distance(name, each)] as const)
    .sort(([, one], [, other]) => one - other)
  return best !== undefined && best[1] <= Math.max(2, name.length / 4) ? ` Did you mean ${best[0]}?` : ''
}

/** How many characters have to be added, dropped or changed to get from one to the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const changed = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}
