import type { JsonObject, JsonValue } from './json.ts'

/** More than any document needs. Cyclic objects fail here, before the stack overflows. */
const DEPTH_MAX = 64

/** Characters that RFC 8785 §3.2.2.2 escapes, and surrogates, which are valid only in pairs. */
const NEEDS_CARE = /[\u0000-\u001f"\\\ud800-\udfff]/

/**
 * The members of credentials and proofs, as they are written. To find them here takes less time
 * than to examine their characters: 3.9 instead of 5.0 µs for a credential.
 */
const KNOWN_NAMES: ReadonlyMap<string, string> = new Map(
  '@context id type issuer validFrom validUntil credentialSubject site_id scope permission_id proof cryptosuite created verificationMethod proofPurpose proofValue'
    .split(' ')
    .map((name) => [name, `"${name}":`]),
)

/**
 * The canonical text of a JSON value (RFC 8785). `skipMember` leaves out one member of the
 * outermost object, so that a proof can be left out without copying the document. Throws a
 * TypeError for values without a JSON form: lone surrogates, infinities, undefined, functions.
 *
 * `hasPlainStrings`: `parseJson` has found that no string needs an escape. Then they are not
 * examined again: 1.9 µs for a credential instead of 3.7.
 */
export function canonicalJson(value: JsonValue, skipMember?: string, hasPlainStrings = false): string {
  const toText = hasPlainStrings ? quote : stringText
  return isPlainObject(value) ? objectText(value, skipMember, 1, toText) : valueText(value, 1, toText)
}

type ToText = (value: string) => string

function quote(value: string): string {
  return `"${value}"`
}

function isPlainObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function valueText(value: JsonValue, depth: number, toText: ToText): string {
  if (typeof value === 'string') return toText(value)
  if (value === null) return 'null'
  if (typeof value === 'object')
    return Array.isArray(value)
      ? arrayText(value, depth, toText)
      : objectText(value, undefined, depth, toText)
  if (value === true) return 'true'
  if (value === false) return 'false'
  // RFC 8785 §3.2.2.3 prescribes the number format of ECMAScript, which writes -0 as 0.
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  throw new TypeError(`canonical JSON: ${typeof value} has no JSON form`)
}

function stringText(value: string): string {
  if (!NEEDS_CARE.test(value)) return `"${value}"`
  if (!value.isWellFormed()) throw new TypeError('canonical JSON: a string has a lone surrogate')
  return JSON.stringify(value)
}

function arrayText(array: readonly JsonValue[], depth: number, toText: ToText): string {
  if (depth > DEPTH_MAX) throw new TypeError('canonical JSON: nested too deeply')
  let text = '['
  for (let i = 0; i < array.length; i++) {
    if (i > 0) text += ','
    text += valueText(array[i] as JsonValue, depth + 1, toText)
  }
  return `${text}]`
}

function objectText(
  object: JsonObject,
  skipMember: string | undefined,
  depth: number,
  toText: ToText,
): string {
  if (depth > DEPTH_MAX) throw new TypeError('canonical JSON: nested too deeply')
  const names = sortNames(Object.keys(object))
  let text = '{'
  for (const name of names) {
    if (name === skipMember) continue
    if (text.length > 1) text += ','
    text +=
      (KNOWN_NAMES.get(name) ?? `${toText(name)}:`) + valueText(object[name] as JsonValue, depth + 1, toText)
  }
  return `${text}}`
}

/**
 * Sorts by UTF-16 code units (RFC 8785 §3.2.3), like `<` and the default sort. Insertion sorts the
 * eight names of a credential in 0.19 µs, `sort` in 0.49 µs.
 */
function sortNames(names: string[]): string[] {
  if (names.length > 16) return names.sort()
  for (let i = 1; i < names.length; i++) {
    const name = names[i] as string
    let j = i - 1
    while (j >= 0 && (names[j] as string) > name) {
      names[j + 1] = names[j] as string
      j--
    }
    names[j + 1] = name
  }
  return names
}
