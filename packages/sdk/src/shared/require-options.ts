/**
 * What the value of an option must be. `list` holds strings, `strings` may be one too, and `any` is
 * left to the code that reads the option.
 */
type OptionKind = 'string' | 'list' | 'strings' | 'number' | 'boolean' | 'function' | 'object' | 'any'

/** The kind of every option, by name. The compiler reports an option that is missing here. */
export type OptionKinds<Options> = { readonly [Name in keyof Options & string]-?: OptionKind }

/**
 * Lists what is wrong with the options of `what`: no object at all, a name that is not an option, a
 * value of the wrong kind. An option whose value is undefined is treated as absent. The messages
 * name the options and never repeat a value, which may be a secret.
 */
export function findOptionFaults<Options>(
  what: string,
  options: unknown,
  kinds: OptionKinds<Options>,
): readonly string[] {
  if (!isRecord(options)) return [`the options of ${what} must be an object`]
  const known: Readonly<Record<string, OptionKind>> = kinds
  return Object.entries(options).flatMap(([name, value]) => {
    if (!Object.hasOwn(known, name))
      return [`${name} is not an option of ${what}, which has: ${Object.keys(known).join(', ')}`]
    const kind = known[name] as OptionKind
    return value === undefined || isOfKind(value, kind) ? [] : [`${name} must be ${NAMES[kind]}`]
  })
}

/** Throws one TypeError that names every invalid option of `what`. */
export function requireOptions<Options>(
  what: string,
  options: unknown,
  kinds: OptionKinds<Options>,
): asserts options is Options {
  const faults = findOptionFaults(what, options, kinds)
  if (faults.length > 0) throw new TypeError(faults.join('; '))
}

const NAMES: Readonly<Record<OptionKind, string>> = {
  string: 'a string',
  list: 'a list of strings',
  strings: 'a string or a list of strings',
  number: 'a number',
  boolean: 'true or false',
  function: 'a function',
  object: 'an object',
  any: 'a value',
}

function isOfKind(value: unknown, kind: OptionKind): boolean {
  if (kind === 'any') return true
  if (kind === 'object') return isRecord(value)
  if (kind !== 'list' && kind !== 'strings') return typeof value === kind
  if (kind === 'strings' && typeof value === 'string') return true
  return Array.isArray(value) && Array.from(value).every((one) => typeof one === 'string')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
