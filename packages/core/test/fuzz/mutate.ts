import type { JsonObject, JsonValue } from '../../src/encoding/json.ts'
import type { Random } from './random.ts'

/** Valid credentials to mutate. `chain` is one delegation chain from its root to its last link. */
export interface Corpus {
  readonly singles: readonly JsonObject[]
  readonly chain: readonly JsonObject[]
}

/** Returns the bytes of a mutated credential. By chance, its content may be unchanged. */
export type Mutation = (corpus: Corpus, random: Random) => Uint8Array

export const mutations: Readonly<Record<string, Mutation>> = {
  bytes: (corpus, random) => {
    const bytes = Uint8Array.from(toText(anyOf(corpus, random)))
    for (let times = 1 + random.int(3); times > 0; times--) mutateByte(bytes, random)
    return random.oneIn(4) ? cutOrGrown(bytes, random) : bytes
  },
  json: (corpus, random) => toText(mutated(anyOf(corpus, random), (copy) => mutateMember(copy, random))),
  spliced: (corpus, random) => {
    const [one, other] = [toText(anyOf(corpus, random)), toText(anyOf(corpus, random))]
    const at = random.int(Math.min(one.length, other.length))
    return Buffer.concat([
      one.subarray(0, at),
      other.subarray(random.oneIn(2) ? at : random.int(other.length)),
    ])
  },
  /** Replaces one member by the same member of another valid credential. */
  transplanted: (corpus, random) =>
    toText(
      mutated(anyOf(corpus, random), (copy) => {
        const donor = structuredClone(anyOf(corpus, random))
        const [from, to] = random.oneIn(3) ? [objectIn(donor, random), objectIn(copy, random)] : [donor, copy]
        const name = random.oneIn(3) ? 'proof' : random.pick(Object.keys(from))
        if (from[name] !== undefined) to[name] = from[name]
      }),
    ),
  /** Removes, repeats, exchanges or reorders links of a chain. */
  reordered: ({ chain, singles }, random) => {
    const links = chain.map((link) => structuredClone(link))
    for (let times = 1 + random.int(3); times > 0; times--) {
      const from = random.oneIn(4)
        ? structuredClone(random.pick(singles))
        : (links[random.int(links.length)] as JsonObject)
      links[random.int(links.length)] = structuredClone(from)
    }
    if (random.oneIn(2)) links.splice(random.int(links.length), 1)
    return toText(links.reduce((parent, child) => ({ ...child, parent })))
  },
  /** Adds a duplicate member, in all the ways in which a lenient parser would see only one. */
  doubled: (corpus, random) => {
    const document = anyOf(corpus, random)
    const name = random.pick(Object.keys(document))
    const evil = JSON.stringify(mutated(document, (copy) => mutateMember(copy, random))[name] ?? null)
    const spelled = random.oneIn(2)
      ? `"${name}"`
      : `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}"`
    const text = JSON.stringify(document)
    return Buffer.from(
      random.oneIn(2)
        ? text.replace('{', `{${spelled}:${evil},`)
        : text.replace(/}$/, `,${spelled}:${evil}}`),
    )
  },
}

const toText = (document: JsonValue) => Buffer.from(JSON.stringify(document))
const anyOf = ({ singles, chain }: Corpus, random: Random) => random.pick(random.oneIn(3) ? chain : singles)

function mutated(document: JsonObject, change: (copy: JsonObject) => void): JsonObject {
  const copy = structuredClone(document)
  change(copy)
  return copy
}

function mutateByte(bytes: Uint8Array, random: Random): void {
  const at = random.int(bytes.length)
  const old = bytes[at] as number
  bytes[at] = random.pick([
    old ^ (1 << random.int(8)),
    old + 1,
    old - 1,
    random.int(256),
    0x22,
    0x5c,
    0x2c,
    0x20,
  ])
}

function cutOrGrown(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.int(bytes.length)
  if (random.oneIn(2)) return bytes.slice(0, at)
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(random.pick(['"', '\\u0000', '{}', ',', '[', ' ', '\ud83d\ude00', '0'])),
    bytes.subarray(at),
  ])
}

/** A random object in the document, or the document itself. */
function objectIn(document: JsonObject, random: Random): JsonObject {
  let object = document
  for (;;) {
    const inside = Object.values(object).filter(
      (v): v is JsonObject => typeof v === 'object' && v !== null && !Array.isArray(v),
    )
    if (inside.length === 0 || random.oneIn(3)) return object
    object = random.pick(inside)
  }
}

const STRANGE: readonly JsonValue[] = [
  null,
  true,
  0,
  -1,
  1.5,
  '',
  'x',
  'orders:refund',
  [],
  {},
  [''],
  ['orders:refund'],
  '2099-01-01T00:00:00Z',
  'z',
]

function mutateMember(document: JsonObject, random: Random): void {
  const object = objectIn(document, random)
  const name = random.pick(Object.keys(object))
  const value = object[name]
  const how = random.int(6)
  if (how === 0) delete object[name]
  else if (how === 1) object[name] = structuredClone(random.pick(STRANGE))
  else if (how === 2)
    object[
      random.pick(['note', 'scope', 'delegable', 'holder_key', 'parent', 'credentialStatus', 'constructor'])
    ] = value as JsonValue
  else if (Array.isArray(value))
    object[name] = random.oneIn(2)
      ? [...value, ...value]
      : [...value, random.pick(STRANGE)].slice(random.int(2))
  else if (typeof value === 'string') object[name] = mutateText(value, random)
  else object[name] = structuredClone(random.pick(STRANGE))
}

function mutateText(text: string, random: Random): string {
  const at = random.int(text.length + 1)
  const piece = random.pick(['0', '1', 'a', 'A', 'z', '.', ' ', '\u0000', '\u0430', ':', '_', '-'])
  return random.pick([
    text.slice(0, at) + piece + text.slice(at + 1),
    text.slice(0, at) + piece + text.slice(at),
    text.slice(0, at),
    text.toUpperCase(),
  ])
}
