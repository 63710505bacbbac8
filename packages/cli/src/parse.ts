import { Command, CommanderError, Option as CommanderOption } from 'commander'
import { type Given, type Group, type Option, type Shared, UsageError, type Verb } from './command.ts'
import { sections } from './commands/all.ts'

/** The verb that a command line runs, or its help. */
export type Parsed = { readonly verb: Verb; readonly given: Given } | { readonly help: string }

const COLUMNS = 80

const SHARED: Readonly<Record<Shared, readonly Option[]>> = {
  service: [
    ['--url <url>', 'the address of the service; default: COUNTERSIGN_URL, or that of data/dev.json'],
    [
      '--api-key-file <file>',
      'a file with the API key, - for standard input; default: COUNTERSIGN_API_KEY or COUNTERSIGN_API_KEY_FILE',
    ],
  ],
  site: [['--site <site_id>', 'the site; default: COUNTERSIGN_SITE, or that of data/dev.json']],
  credential: [
    [
      '--credential <file>',
      'a file with the signed credential, - for standard input; default: that of data/dev.json',
    ],
    ['--holder-key <file>', 'a file with the private JWK of its holder'],
    ['--bound', 'use the bound credential of data/dev.json, with its key'],
  ],
  removal: [
    ['--dry-run', 'report what would happen, and change nothing'],
    ['--yes', 'do not ask for confirmation'],
  ],
}

const GENERAL: readonly Option[] = [
  ['--json', 'print the result as JSON'],
  ['--no-input', 'never ask; fail if a confirmation is needed'],
  ['--no-color', 'no colours; same as NO_COLOR'],
]

/** An RFC 7638 thumbprint that looks like an option: one in 64 does. No option is so long. */
const DASHED_THUMBPRINT = /^-[A-Za-z0-9_-]{42}$/
/** No argument of a process has this character. */
const MARK = '\0'

function hideDash(word: string): string {
  return DASHED_THUMBPRINT.test(word) ? MARK + word : word
}

function showDash(text: string): string {
  return text.replaceAll(MARK, '')
}

/** The values of options: texts, lists of texts, or whether one was given. */
function showDashes(values: object): Readonly<Record<string, unknown>> {
  const show = (value: unknown): unknown =>
    typeof value === 'string' ? showDash(value) : Array.isArray(value) ? value.map(show) : value
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, show(value)]))
}

/** Throws a `UsageError` for an invalid command line. */
export function parse(name: string, command: Verb | Group, summary: string, argv: readonly string[]): Parsed {
  let found: Parsed | undefined
  let help = ''
  let complaint = ''
  const take = (verb: Verb, made: Command) => {
    found = { verb, given: createGiven(made) }
  }
  const program = prepare(new Command(`countersign ${name}`))
  program.configureOutput({
    writeOut: (text) => (help += text),
    writeErr: (text) => (complaint += showDash(text)),
  })
  if ('verbs' in command) addVerbs(program, name, command, summary, take)
  else {
    addVerb(program, command, summary, take)
    if (command.takesSettings) addSettings(program, argv)
  }
  try {
    program.parse(argv.map(hideDash), { from: 'user' })
  } catch (fault) {
    if (!(fault instanceof CommanderError)) throw fault
    if (help !== '' && fault.exitCode === 0) return { help: help.trimEnd() }
    // Without a subcommand, commander prints the help as its error.
    const words = complaint.startsWith('error: ')
      ? sentence(complaint)
      : `Missing command.\n\n${complaint.trimEnd()}`
    throw new UsageError(
      complaint.startsWith('error: ') ? `${words}\nMore: ${invoked(name, command, argv)} --help` : words,
      { cause: fault },
    )
  }
  if (found === undefined) throw new UsageError(`Missing command.\n\n${program.helpInformation().trimEnd()}`)
  return found
}

/** ` Did you mean revoke-user?`, or an empty text. */
export function suggestCommand(name: string): string {
  let complaint = ''
  const program = new Command().exitOverride().configureOutput({ writeErr: (text) => (complaint += text) })
  for (const [, rows] of sections) for (const [each] of rows) program.command(each)
  try {
    program.parse([name], { from: 'user' })
  } catch {
    // It always throws: the name is unknown.
  }
  const [, suggestion = ''] = /\((Did you mean .*)\)/.exec(complaint) ?? []
  return suggestion === '' ? '' : ` ${suggestion}`
}

function sentence(complaint: string): string {
  const text = complaint.replace(/^error: /, '').trim()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function invoked(name: string, command: Verb | Group, [first]: readonly string[]): string {
  return 'verbs' in command && first !== undefined && Object.hasOwn(command.verbs, first)
    ? `countersign ${name} ${first}`
    : `countersign ${name}`
}

function prepare(command: Command): Command {
  return command
    .exitOverride()
    .helpOption('-h, --help', 'print this help')
    .allowExcessArguments(false)
    .configureHelp({
      helpWidth: COLUMNS,
      styleTitle: (title) => (title === 'Usage:' ? title : title.replace(/:$/, '')),
    })
}

function addVerbs(
  program: Command,
  name: string,
  { verbs, standard }: Group,
  summary: string,
  take: (verb: Verb, made: Command) => void,
): void {
  const examples = Object.values(verbs).flatMap((verb) => verb.examples.slice(0, 1))
  program
    .description(sentence(`${summary}.`))
    .addHelpText('before', examplesText(examples))
    .helpCommand(false)
  for (const [verbName, verb] of Object.entries(verbs)) {
    const made = prepare(program.command(verbName, { isDefault: verbName === standard }))
    addVerb(made, verb, verb.summary, take)
    made.summary(verb.summary)
  }
  program.addHelpText('after', `\nMore: countersign ${name} <command> --help`)
}

function addVerb(
  command: Command,
  verb: Verb,
  summary: string,
  take: (verb: Verb, made: Command) => void,
): void {
  command.description([sentence(`${summary}.`), ...(verb.about ?? [])].join('\n\n'))
  command.addHelpText('before', examplesText(verb.examples))
  for (const [word, what] of verb.words ?? []) command.argument(word, what)
  const shared = (verb.shares ?? []).flatMap((name) => SHARED[name])
  for (const [flags, what, kind] of [...(verb.options ?? []), ...shared, ...GENERAL]) {
    if (kind === 'list') command.option(flags, what, append)
    else command.option(flags, what)
  }
  command.action(() => take(verb, command))
}

/** In the lists of values, `true` is an option without its value. */
type Value = string | true

const append = (value: string, before: readonly Value[] | true | undefined): readonly Value[] => [
  ...[before ?? []].flat(),
  value,
]

const SETTINGS_HELP = `
Other flags are settings of the service. --<name> <value> overrides
COUNTERSIGN_<NAME>, which overrides the settings file; see docs/operating.md.
Exit codes: 0 success, 1 failure, 2 usage error, 3 check failed.`

/**
 * Declares every unknown flag as a setting. Only the service knows the names of its settings, and
 * it is not loaded for parsing and help; it rejects unknown names and missing values later.
 */
function addSettings(command: Command, argv: readonly string[]): void {
  command.option('--config <file>', 'a JSON file with settings; default: COUNTERSIGN_CONFIG', append)
  command.addHelpText('after', SETTINGS_HELP)
  const declared = new Set(command.options.map(({ long }) => long))
  for (const word of argv) {
    const [, flag] = /^(--(?!no-|help$)[a-z0-9-]+)(?:=|$)/.exec(word) ?? []
    if (flag === undefined || declared.has(flag)) continue
    declared.add(flag)
    command.addOption(new CommanderOption(`${flag} [value]`).argParser(append).hideHelp())
  }
}

function examplesText(examples: Verb['examples']): string {
  return `${['Examples', ...examples.flatMap(([line, what]) => [`  ${line}`, `      ${what}`])].join('\n')}\n`
}

function createGiven(command: Command): Given {
  const known = new Map(command.options.map((option) => [option.name(), option.attributeName()]))
  const values = showDashes(command.opts())
  const chosen = (name: string): unknown => {
    const attribute = known.get(name)
    // A shared option that this command does not have counts as not given.
    if (attribute === undefined && !SHARED_NAMES.has(name))
      throw new TypeError(`${command.name()} has no option --${name}`)
    return attribute === undefined ? undefined : values[attribute]
  }
  const text = (name: string) => chosen(name) as string | undefined
  const words = command.args.map(showDash)
  const settings = command.options.filter(({ long, hidden }) => hidden || long === '--config')
  return {
    settings: settings.flatMap((option) =>
      ([values[option.attributeName()] ?? []].flat() as Value[]).map(
        (value) => [option.name(), value === true ? undefined : value] as const,
      ),
    ),
    words,
    word: (index) => words[index] ?? '',
    text,
    list: (name) => (chosen(name) as readonly string[] | undefined) ?? [],
    has: (name) => chosen(name) === !name.startsWith('no-'),
    integer(name, { min, max }) {
      const given = text(name)
      if (given === undefined) return undefined
      if (/^\d{1,15}$/.test(given) && Number(given) >= min && Number(given) <= max) return Number(given)
      throw new UsageError(`--${name} must be a whole number from ${min} to ${max}`)
    },
  }
}

const SHARED_NAMES: ReadonlySet<string> = new Set(
  Object.values(SHARED).flatMap((options) => options.map(([flags]) => /--([a-z-]+)/.exec(flags)?.[1] ?? '')),
)
