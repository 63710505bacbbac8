import { type ExitCode, UsageError } from './command.ts'
import { findRow } from './commands/all.ts'
import { overview } from './overview.ts'
import { describeError } from './terminal/describe-error.ts'
import { jsonText, type Terminal } from './terminal/output.ts'

const isHelp = (word: string | undefined) => word === '--help' || word === '-h' || word === 'help'

/** Runs a command line. Never throws: it prints every error and returns its exit code. */
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
  if (name === undefined) throw new UsageError(overview())
  const { parse, suggestCommand } = await import('./parse.ts')
  const row = findRow(name)
  if (row === undefined)
    throw new UsageError(
      `There is no command ${JSON.stringify(name)}.${suggestCommand(name)} List all commands: countersign --help`,
    )
  const [, summary, load] = row
  const command = await load()
  const parsed = parse(name, command, summary, rest)
  if ('help' in parsed) {
    at.line(parsed.help)
    return 0
  }
  return parsed.verb.run(parsed.given, at)
}
