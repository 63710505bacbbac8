/** A schema of the OpenAPI document, or any other object of it. */
export type Schema = Readonly<Record<string, unknown>>

/** One member of an object, or one parameter. */
export interface Member {
  readonly name: string
  /** In words, for example `string or null`. */
  readonly type: string
  readonly isRequired: boolean
  /** Bounds and allowed values, in words. */
  readonly limits: readonly string[]
  readonly values: readonly string[]
  readonly description: string
  readonly example: string | undefined
  readonly members: readonly Member[]
}

/** Finds a schema by its reference. */
export type Resolve = (reference: string) => Schema

const DEPTH_MAX = 5

/** The members of an object, with those of the objects in it. Empty for all other schemas. */
export function listMembers(
  schema: Schema,
  resolve: Resolve,
  seen: readonly string[] = [],
): readonly Member[] {
  const { inner, path } = open(schema, resolve, seen)
  if (path.length > DEPTH_MAX) return []
  const forms = listForms(inner)
  const required = new Set(strings(inner.required))
  const own = Object.entries(asSchemas(inner.properties)).map(([name, member]) =>
    toMember(name, member, required.has(name), resolve, path),
  )
  // Members of alternative forms are listed once; a member is required if it is so in every form.
  const others = forms.map((form) => listMembers(form, resolve, path))
  const byName = new Map<string, Member>(own.map((member) => [member.name, member]))
  for (const member of others.flat()) {
    const isRequired = others.every((members) =>
      members.some(({ name, isRequired }) => name === member.name && isRequired),
    )
    if (!byName.has(member.name)) byName.set(member.name, { ...member, isRequired })
  }
  return [...byName.values()]
}

/** Parameters as members. */
export function toMember(
  name: string,
  schema: Schema,
  isRequired: boolean,
  resolve: Resolve,
  seen: readonly string[] = [],
): Member {
  const { inner, path, isNullable, isList } = unwrap(schema, resolve, seen)
  const isRecursive = path.length > new Set(path).size
  const [example] = Array.isArray(inner.examples) ? inner.examples : []
  return {
    name,
    type: toType(inner, isList) + (isNullable ? ' or null' : ''),
    isRequired,
    limits: listLimits(inner, isList ? open(schema, resolve, []).inner : undefined),
    values: strings(inner.enum).length > 0 ? strings(inner.enum) : constantValue(inner),
    description: text(schema.description) || text(inner.description),
    example:
      typeof example === 'object'
        ? JSON.stringify(example)
        : example === undefined
          ? undefined
          : String(example),
    members: isRecursive ? [] : listMembers(inner, resolve, path),
  }
}

/**
 * What one must send if there are several ways: the names of each. Empty if there is one way only.
 */
export function listAlternatives(schema: Schema, resolve: Resolve): readonly (readonly string[])[] {
  const { inner } = open(schema, resolve, [])
  return schemas(inner.oneOf).every(({ required }) => required !== undefined)
    ? schemas(inner.oneOf).map(({ required }) => strings(required))
    : []
}

interface Opened {
  readonly inner: Schema
  /** The names of the schemas on the way to it. */
  readonly path: readonly string[]
}

function open(schema: Schema, resolve: Resolve, seen: readonly string[]): Opened {
  const { $ref } = schema
  if (typeof $ref !== 'string') return { inner: schema, path: seen }
  return open(resolve($ref), resolve, [...seen, $ref])
}

/** Looks through references, "or null" and lists, to what a member consists of. */
function unwrap(
  schema: Schema,
  resolve: Resolve,
  seen: readonly string[],
): Opened & { readonly isNullable: boolean; readonly isList: boolean } {
  const { inner, path } = open(schema, resolve, seen)
  const choices = [...schemas(inner.anyOf), ...schemas(inner.oneOf)].filter(({ type }) => type !== 'null')
  const isNullable = schemas(inner.anyOf).some(({ type }) => type === 'null')
  const [only] = choices
  if (isNullable && only !== undefined && choices.length === 1)
    return { ...unwrap(only, resolve, path), isNullable }
  if (inner.type === 'array' && isSchema(inner.items))
    return { ...unwrap(inner.items, resolve, path), isNullable, isList: true }
  return { inner, path, isNullable, isList: false }
}

/** The alternative forms of an object, each with its own members. */
function listForms(schema: Schema): readonly Schema[] {
  const forms = [...schemas(schema.anyOf), ...schemas(schema.oneOf)]
  return forms.filter(({ type, $ref }) => type === 'object' || $ref !== undefined)
}

const WHOLE_NUMBER = '^(?:0|[1-9][0-9]{0,15})$'

function toType(schema: Schema, isList: boolean): string {
  const forms = listForms(schema)
  const single = (() => {
    if (schema.format === 'date-time') return 'time'
    if (schema.format === 'uri') return 'URL'
    // In a path or a query, numbers are written as text.
    if (schema.pattern === WHOLE_NUMBER) return 'integer'
    if (forms.length > 0) return 'object'
    if (schema.type === undefined) return schema.const === undefined ? 'any' : typeof schema.const
    if (schema.type === 'object' && schema.properties === undefined) return 'map'
    return text(schema.type)
  })()
  return isList ? `list of ${single === 'any' ? 'values' : `${single}s`}` : single
}

function listLimits(schema: Schema, list: Schema | undefined): readonly string[] {
  const { minLength, maxLength, minimum, maximum } = schema
  const found: string[] = []
  const span = (from: unknown, to: unknown, unit: string) => {
    const hasMin = typeof from === 'number' && from > Number.MIN_SAFE_INTEGER
    const hasMax = typeof to === 'number' && to < Number.MAX_SAFE_INTEGER
    const number = (value: unknown) => Number(value).toLocaleString('en-US')
    if (hasMin && hasMax)
      found.push(from === to ? `${number(to)}${unit}` : `${number(from)} to ${number(to)}${unit}`)
    else if (hasMax) found.push(`at most ${number(to)}${unit}`)
    else if (hasMin && from !== 0) found.push(`at least ${number(from)}${unit}`)
  }
  span(minLength, maxLength, ' characters')
  span(minimum, maximum, '')
  if (list !== undefined) span(list.minItems, list.maxItems, ' items')
  if (schema.default !== undefined) found.push(`default ${JSON.stringify(schema.default)}`)
  return found
}

function constantValue({ const: value }: Schema): readonly string[] {
  return value === undefined ? [] : [String(value)]
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null
const schemas = (value: unknown): readonly Schema[] => (Array.isArray(value) ? value.filter(isSchema) : [])
const asSchemas = (value: unknown): Readonly<Record<string, Schema>> =>
  isSchema(value) ? (value as Readonly<Record<string, Schema>>) : {}
const strings = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
