import { type Given, type Option, UsageError } from '../command.ts'

/** Of every command that makes a change. */
export const REASON_OPTION: Option = ['--reason <text>', 'why, for the audit']

/** Throws a `UsageError` unless the text is one of the values. */
export function requireOneOf<const Value extends string>(
  flag: string,
  text: string,
  values: readonly Value[],
): Value {
  const found = values.find((value) => value === text)
  if (found === undefined) throw new UsageError(`--${flag} must be ${values.join(' or ')}`)
  return found
}

/** The members without those that are undefined. */
export function omitUndefined<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}

/** Undefined if the option was not given. Throws a `UsageError` unless it is one of the values. */
export function parseOneOf<const Value extends string>(
  given: Given,
  flag: string,
  values: readonly Value[],
): Value | undefined {
  const text = given.text(flag)
  return text === undefined ? undefined : requireOneOf(flag, text, values)
}

/** The members that `--clear` sets to null. */
export function toClearedMembers<const Name extends string>(
  given: Given,
  names: readonly Name[],
): Partial<Record<Name, null>> {
  const wanted = given.list('clear').map((name) => name.replaceAll('-', '_'))
  const unknown = wanted.find((name) => !(names as readonly string[]).includes(name))
  if (unknown !== undefined) throw new UsageError(`--clear takes ${names.join(', ')}`)
  return Object.fromEntries(wanted.map((name) => [name, null])) as Partial<Record<Name, null>>
}
