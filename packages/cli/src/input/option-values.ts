import { type Given, UsageError } from '../command.ts'

/** Throws a `UsageError` for a value that is none of them. */
export function requireOneOf<const Value extends string>(
  flag: string,
  text: string,
  values: readonly Value[],
): Value {
  const found = values.find((value) => value === text)
  if (found === undefined) throw new UsageError(`--${flag} must be ${values.join(' or ')}`)
  return found
}

/** Members that are set to nothing by `--clear`. */
export function toClearedMembers<const Name extends string>(
  given: Given,
  names: readonly Name[],
): Partial<Record<Name, null>> {
  const wanted = given.list('clear').map((name) => name.replaceAll('-', '_'))
  const unknown = wanted.find((name) => !(names as readonly string[]).includes(name))
  if (unknown !== undefined) throw new UsageError(`--clear takes ${names.join(', ')}`)
  return Object.fromEntries(wanted.map((name) => [name, null])) as Partial<Record<Name, null>>
}
