import { readConfig, readHeadFileConfig, readMasterKeyConfig, readStoreConfig } from '../config.ts'
import { readNewMasterKey } from '../keys/master-key.ts'
import type { SettingSources } from '../settings.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import { SERVICE_VERSION } from '../version.ts'
import { commands } from './all.ts'
import { brokenLog } from './audit-log.ts'
import { type Command, type ExitCode, type Given, Misuse, orMisuse } from './command.ts'

export interface Terminal extends Omit<SettingSources, 'argv'> {
  readonly say: (text: string) => void
  readonly note: (text: string) => void
  /** How far long work has got, for a person at the terminal. */
  readonly progress?: (done: number, total: number) => void
}

/**
 * Runs what the words of a command line ask for. Never throws: everything that goes wrong becomes
 * words on `note` and a code.
 */
export async function runCommand(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const said = (text: string) => {
    terminal.say(text)
    return 0 as const
  }
  const noted = <Code extends ExitCode>(code: Code, text: string) => {
    terminal.note(text)
    return code
  }
  const [name = '', ...rest] = argv
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) {
    if (isHelp(name)) return said(overview())
    if (name === '--version') return said(SERVICE_VERSION)
    return noted(
      2,
      name === '' ? overview() : `There is no command ${JSON.stringify(name)}.\n\n${overview()}`,
    )
  }
  if (rest.some(isHelp)) return said(helpOf(name, command))
  try {
    return await command.run(givenOf(name, command, rest, terminal))
  } catch (fault) {
    if (fault instanceof Misuse) return noted(2, fault.message)
    if (fault instanceof LogCorrupted && fault.audit !== undefined) return noted(3, brokenLog(fault.audit))
    return noted(1, `${name} failed: ${fault instanceof Error ? fault.message : String(fault)}`)
  }
}

function givenOf(name: string, command: Command, rest: readonly string[], terminal: Terminal): Given {
  const { words, switches, settings } = split(rest, [JSON_SWITCH, ...(command.switches ?? [])])
  const wordsMin = command.words.filter((word) => word.startsWith('<')).length
  if (words.length < wordsMin || words.length > command.words.length) {
    throw new Misuse(`usage: ${usageOf(name, command)}\nMore: countersign ${name} --help`)
  }
  const sources = { ...terminal, argv: settings }
  const masterKey = () => orMisuse(() => readMasterKeyConfig(sources))
  return {
    words,
    switches,
    config: () => orMisuse(() => readConfig('production', sources)),
    store: () => orMisuse(() => readStoreConfig(sources)),
    headFile: () => orMisuse(() => readHeadFileConfig(sources)),
    masterKey,
    newMasterKey: () => orMisuse(() => readNewMasterKey(terminal.env, masterKey())),
    sources,
    say: (text, facts) => {
      if (switches.has(JSON_SWITCH)) terminal.say(JSON.stringify(facts))
      else if (text !== '') terminal.say(text)
    },
    progress: terminal.progress ?? (() => {}),
    note: terminal.note,
  }
}

/**
 * `--name value` and `--name=value` are settings, unless the command has a switch of that name; all
 * else are words.
 */
function split(rest: readonly string[], known: readonly string[]) {
  const words: string[] = []
  const switches = new Set<string>()
  const settings: string[] = []
  for (let i = 0; i < rest.length; i++) {
    const text = rest[i] as string
    if (!text.startsWith('--')) words.push(text)
    else if (known.includes(text.slice(2))) switches.add(text.slice(2))
    else settings.push(...(text.includes('=') ? [text] : rest.slice(i, ++i + 1)))
  }
  return { words, switches, settings }
}

/** Of every command. */
const JSON_SWITCH = 'json'

const isHelp = (word: string) => word === '--help' || word === '-h' || word === 'help'

function usageOf(name: string, { words, switches = [] }: Command): string {
  return [
    'countersign',
    name,
    ...words,
    ...switches.map((each) => `[--${each}]`),
    '[--json]',
    '[settings]',
  ].join(' ')
}

function helpOf(name: string, command: Command): string {
  return [
    'Examples',
    ...command.examples.flatMap(([line, what]) => [`  ${line}`, `      ${what}`]),
    '',
    `usage: ${usageOf(name, command)}`,
    '',
    ...command.about.map(wrapped),
    '',
    ...SETTINGS_AND_CODES.map(wrapped),
  ].join('\n')
}

const SETTINGS_AND_CODES = [
  'With --json the result is one line of JSON.',
  'Settings come from a JSON file (--config <file>), then COUNTERSIGN_<NAME>, then --<name>; docs/operating.md lists them.',
  'Exit codes: 0 done, 1 failed, 2 usage error, 3 a check failed.',
]

const COLUMNS = 100

function wrapped(paragraph: string): string {
  return paragraph.replaceAll(new RegExp(`(.{1,${COLUMNS}})(?: |$)`, 'g'), '$1\n').trimEnd()
}

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length))
  return [
    'Examples',
    '  countersign serve --base-url https://id.example',
    '  countersign audit-log',
    '  countersign backup --help',
    '',
    'usage: countersign <command> [settings]',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    ...SETTINGS_AND_CODES.map(wrapped),
    'In a clone of the repository: npm run -s countersign -- <command>',
  ].join('\n')
}
