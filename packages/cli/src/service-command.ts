import { type ExitCode, Misuse } from './command.ts'
import { confirmRemoval } from './confirm.ts'
import { barText, jsonText, type Terminal } from './output.ts'

/** Those that take something away; the words say what, with the first word of the command line. */
const REMOVALS: Readonly<Record<string, (word: string) => string>> = {
  restore: (file) => `put ${file} in the place of the store, so that what was done after that backup is gone`,
  'delete-operator-key': (keyId) => `delete the operator key ${keyId}`,
}

const ASKS_FIRST =
  'Asks first. --yes does not ask, --dry-run says what would happen and changes nothing, --no-input never asks and refuses.'

/** Of this program, and not known to the service. */
const OWN_FLAGS: ReadonlySet<string> = new Set(['--no-input', '--no-color', '--dry-run', '--yes'])

type RunCommand = typeof import('@countersign/service').runCommand

/**
 * Runs one of the service's own commands. Loads the service, which takes a moment: only these need
 * it.
 */
export async function runServiceCommand(
  name: string,
  argv: readonly string[],
  at: Terminal,
): Promise<ExitCode> {
  const { runCommand } = await import('@countersign/service')
  const removal = REMOVALS[name]
  const isHelp = argv.some((word) => ['--help', '-h', 'help'].includes(word))
  if (isHelp && removal !== undefined) {
    const code = await runThere(runCommand, [name, '--help'], at)
    at.line(`\n${ASKS_FIRST}`)
    return code
  }
  if (removal === undefined || isHelp)
    return runThere(
      runCommand,
      [name, ...argv.filter((word) => !['--no-input', '--no-color'].includes(word))],
      at,
    )
  const rest = argv.filter((word) => !OWN_FLAGS.has(word))
  const [word = ''] = rest.filter((each) => !each.startsWith('-'))
  if (argv.includes('--dry-run') && word !== '') return rehearse(runCommand, name, word, rest, at)
  const given = { has: (flag: string) => argv.includes(`--${flag}`) } as Parameters<typeof confirmRemoval>[0]
  const answer = word === '' ? undefined : await confirmRemoval(given, at, { act: removal(word), plan: {} })
  return answer ?? runThere(runCommand, [name, ...rest], at)
}

/** What can be told beforehand: whether the backup holds, or whether there is such a key. */
async function rehearse(
  runCommand: RunCommand,
  name: string,
  word: string,
  rest: readonly string[],
  at: Terminal,
): Promise<ExitCode> {
  const others = rest.filter((each) => each !== word)
  if (name === 'restore') {
    const code = await runThere(runCommand, ['restore', word, '--dry-run', ...others], at)
    if (code === 0) at.note(`Would put ${word} in the place of the store.`)
    return code
  }
  let text = ''
  const terminal = { env: at.env, say: (said: string) => (text += said), note: at.note }
  const code = await runCommand(
    ['operator-keys', '--json', ...others.filter((each) => each !== '--json')],
    terminal,
  )
  if (code !== 0) return code
  const { items } = JSON.parse(text) as {
    readonly items: readonly { readonly key_id: string; readonly label: string | null }[]
  }
  const key = items.find(({ key_id }) => key_id === word)
  if (key === undefined)
    throw new Misuse(`There is no operator key ${word}. All of them: countersign operator-keys`)
  at.result(
    { dry_run: true, key_id: word },
    () => `Would delete the operator key ${word}${key.label === null ? '' : ` (${key.label})`}.`,
  )
  at.note('Nothing was changed.')
  return 0
}

/** With `--json` a refusal is JSON too; the service itself knows only words. */
async function runThere(runCommand: RunCommand, argv: readonly string[], at: Terminal): Promise<ExitCode> {
  const notes: string[] = []
  const note = at.isJson ? (text: string) => void notes.push(text) : at.note
  const progress = (done: number, total: number) =>
    at.progress(`${barText(done / Math.max(total, 1))} ${done} of ${total} entries`)
  const code = await runCommand(argv, { env: at.env, say: at.line, note, progress })
  at.progress(undefined)
  if (code !== 0 && notes.length > 0)
    at.note(
      jsonText({
        error: { code: code === 2 ? 'usage' : 'failed', message: notes.join('\n') },
        exit_code: code,
      }),
    )
  else for (const text of notes) at.note(text)
  return code
}
