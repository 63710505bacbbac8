// Control characters would break log lines, frames and terminals; lone surrogates have no UTF-8
// form; NUL has no place in PostgreSQL. Bidirectional overrides and isolates (U+202A–E, U+2066–9)
// make text read other than it is stored. Marks such as U+200F are ordinary Hebrew and Arabic
// writing and stay.
const UNFIT = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u

/** One printable line of at most `charsMax` code points: what may be stored and shown. */
export function isLine(value: unknown, charsMax: number): value is string {
  if (typeof value !== 'string' || value.length > charsMax * 2 || UNFIT.test(value)) return false
  return value.length <= charsMax || [...value].length <= charsMax
}
