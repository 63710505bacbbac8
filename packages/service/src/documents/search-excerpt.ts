/** A piece of a text; hits are words of the query. */
export interface ExcerptPart {
  readonly text: string
  readonly isHit?: true
}

const CHARS_MAX = 180
const CHARS_BEFORE = 60

/** The part of a text around the first word of the query. */
export function createExcerpt(text: string, terms: readonly string[]): readonly ExcerptPart[] {
  const lower = text.toLowerCase()
  const at = terms.map((term) => lower.indexOf(term)).filter((position) => position >= 0)
  const begin = at.length === 0 ? 0 : Math.max(0, Math.min(...at) - CHARS_BEFORE)
  // Whole words only.
  const from = begin === 0 ? 0 : text.indexOf(' ', begin) + 1
  const piece = text.slice(from, from + CHARS_MAX)
  const isCut = from + CHARS_MAX < text.length
  const end = isCut ? piece.replace(/\s+\S*$/, ' …') : piece
  return markWords(`${from === 0 ? '' : '… '}${end}`, terms)
}

/** Marks the places where a word of the query begins. */
export function markWords(text: string, terms: readonly string[]): readonly ExcerptPart[] {
  if (terms.length === 0) return [{ text }]
  // A term has letters, digits and underscores only.
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${terms.join('|')})`, 'giu')
  const parts: ExcerptPart[] = []
  let done = 0
  for (const { index, 0: found } of text.matchAll(pattern)) {
    if (index > done) parts.push({ text: text.slice(done, index) })
    parts.push({ text: found, isHit: true })
    done = index + found.length
  }
  if (done < text.length) parts.push({ text: text.slice(done) })
  return parts
}
