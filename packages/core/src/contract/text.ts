// Control characters break log lines, frames and terminals. Lone surrogates have no UTF-8 form.
// PostgreSQL cannot store NUL. Bidirectional overrides and isolates (U+202A–E, U+2066–9) change the
// visible order of text. Marks such as U+200F are ordinary in Hebrew and Arabic and are allowed.
const UNFIT = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u

/** One printable line of at most `charsMax` code points, which is safe to store and show. */
export function isLine(value: unknown, charsMax: number): value is string {
  if (typeof value !== 'string' || value.length > charsMax * 2 || UNFIT.test(value)) return false
  return value.length <= charsMax || [...value].length <= charsMax
}

/** Besides blanks and marks without width: letters that are drawn as nothing. */
const INVISIBLE = /[\s\p{Cf}\p{Mn}\u115F\u1160\u2800\u3164\uFFA0]/gu

/** Whether a person can see something of it. */
export function isVisible(text: string): boolean {
  return text.replace(INVISIBLE, '') !== ''
}
