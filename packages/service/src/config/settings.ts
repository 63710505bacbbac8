import { readFileSync } from 'node:fs'
import { isJsonObject, type JsonObject, parseJson } from '@countersign/core'
import { findNearName } from './near-name.ts'

/** Where settings come from. */
export interface SettingSources {
  /** Flags of the command line, without their dashes: `['data-dir', '/srv']`. */
  readonly flags?: Iterable<readonly [name: string, value: string | undefined]>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly readText?: (file: string) => string
}

const PREFIX = 'COUNTERSIGN_'
/** More than any setting has, so that a nested value is reported by its name. */
const CONFIG_DEPTH_MAX = 8
/** Variables with the same prefix that are not settings of the service. */
const NOT_SETTINGS = new Set([
  'COUNTERSIGN_CONFIG',
  // For the command that changes the master key.
  'COUNTERSIGN_MASTER_KEY_NEW',
  'COUNTERSIGN_MASTER_KEY_NEW_FILE',
  // For commands that call a service.
  'COUNTERSIGN_URL',
  'COUNTERSIGN_SITE',
  'COUNTERSIGN_API_KEY',
  'COUNTERSIGN_API_KEY_FILE',
])

/**
 * The raw text of every setting that was given, by name: from the file, then the environment, then
 * flags, each overriding the one before. Unknown, repeated and unreadable ones are added to
 * `mistakes`. A secret in a flag is rejected and not repeated in the message. Throws a TypeError
 * when the configuration file cannot be read: without it, settings would seem to be missing.
 */
export function readSettings<Name extends string>(
  names: readonly Name[],
  secrets: readonly Name[],
  { flags: given = [], env, readText = (file) => readFileSync(file, 'utf8') }: SettingSources,
  mistakes: string[],
): ReadonlyMap<Name, string> {
  const known = new Set<string>(names)
  const found = new Map<Name, string>()
  const flags = toFlagMap(given, mistakes)
  const load = (file: string, what: string): string | undefined => {
    try {
      return readText(file)
    } catch (error) {
      mistakes.push(
        `${what}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`,
      )
      return undefined
    }
  }

  const configFile = flags.get('config') ?? env.COUNTERSIGN_CONFIG
  flags.delete('config')
  if (configFile !== undefined) {
    const object = readObject(configFile, readText)
    for (const [name, value] of toMembers(object, mistakes)) {
      if (known.has(name)) found.set(name as Name, value)
      else
        mistakes.push(
          `the configuration file has a member ${name}, which is not a setting${suggest(name, names)}`,
        )
    }
  }

  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || NOT_SETTINGS.has(variable) || value === undefined) continue
    const name = variable.slice(PREFIX.length).toLowerCase()
    const secret = known.has(name) ? undefined : secrets.find((one) => `${one}_file` === name)
    if (secret !== undefined) {
      if (env[PREFIX + secret.toUpperCase()] !== undefined)
        mistakes.push(`${variable} and ${PREFIX}${secret.toUpperCase()} are both set; set one of them`)
      const text = load(value, variable)?.trim()
      if (text !== undefined) found.set(secret, text)
    } else if (known.has(name)) found.set(name as Name, value)
    else {
      const all = [...names, ...secrets.map((one) => `${one}_file`)]
      const toVariable = (one: string) => PREFIX + one.toUpperCase()
      mistakes.push(`${variable} is not a setting${suggest(name, all, toVariable)}`)
    }
  }

  for (const [flag, value] of flags) {
    const name = flag.replaceAll('-', '_') as Name
    if (!known.has(name)) {
      const open = names.filter((one) => !secrets.includes(one))
      mistakes.push(
        `--${flag} is neither an option of this command nor a setting${suggest(name, open, toFlag)}`,
      )
    } else if (secrets.includes(name))
      mistakes.push(
        `--${flag} would show a secret to every user of this machine; use ${PREFIX}${name.toUpperCase()} or its _FILE form`,
      )
    else if (value === undefined) mistakes.push(`--${flag} needs a value`)
    else found.set(name, value)
  }
  return found
}

/** `; did you mean base_url?`, or an empty text. */
function suggest(name: string, names: readonly string[], spell = (one: string) => one): string {
  const near = findNearName(name, names)
  return near === undefined ? '' : `; did you mean ${spell(near)}?`
}

const toFlag = (name: string): string => `--${name.replaceAll('_', '-')}`

function toFlagMap(
  given: NonNullable<SettingSources['flags']>,
  mistakes: string[],
): Map<string, string | undefined> {
  const flags = new Map<string, string | undefined>()
  for (const [name, value] of given) {
    if (flags.has(name)) mistakes.push(`--${name} is given twice`)
    else flags.set(name, value)
  }
  return flags
}

/** The object in the configuration file. Messages never repeat its text, which can be secret. */
function readObject(file: string, readText: (file: string) => string): JsonObject {
  let text: string
  try {
    text = readText(file)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    throw new TypeError(`The configuration file ${file} cannot be read (${reason}). Check its path.`)
  }
  const parsed = parseJson(text, { depthMax: CONFIG_DEPTH_MAX })
  if ('fault' in parsed) {
    const line = text.slice(0, parsed.offset).split('\n').length
    throw new TypeError(`The configuration file ${file} is not valid JSON: ${parsed.fault} (line ${line}).`)
  }
  if (!isJsonObject(parsed.value))
    throw new TypeError(`The configuration file ${file} must contain one JSON object.`)
  return parsed.value
}

/** The members of the configuration file as strings. A list becomes one string with blanks. */
function toMembers(object: JsonObject, mistakes: string[]): [string, string][] {
  return Object.entries(object).flatMap(([name, value]): [string, string][] => {
    if (['string', 'number', 'boolean'].includes(typeof value)) return [[name, String(value)]]
    if (Array.isArray(value) && value.every((item) => typeof item === 'string'))
      return [[name, value.join(' ')]]
    mistakes.push(`${name} in the configuration file must be a text, a number or a list of texts`)
    return []
  })
}
