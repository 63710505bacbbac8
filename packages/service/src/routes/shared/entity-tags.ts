/**
 * Whether an `If-None-Match` header names this tag, by the weak comparison of RFC 9110 §8.8.3.2.
 * Ignores what is not a tag, so that the caller gets the whole answer.
 */
export function hasEntityTag(lines: readonly string[], tag: string): boolean {
  const text = lines.join(',').trim()
  if (text === '*') return true
  return [...text.matchAll(/(?:W\/)?"([\x21\x23-\x7e]*)"/g)].some(([, named]) => named === tag)
}
