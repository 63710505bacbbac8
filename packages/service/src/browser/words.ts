/** Puts values into the places that a text has for them. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (place, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? place) : place,
  )
}

/**
 * What a scope allows, in words. Where there are none, the scope itself, which says more than a
 * guess.
 */
export function scopeWords(scope: string, verbs: Readonly<Record<string, string>>): string {
  const parts = scope.split(':')
  const verb = parts.pop() ?? ''
  const what = parts
    .join(' ')
    .replaceAll(/[_./-]+/g, ' ')
    .trim()
  return Object.hasOwn(verbs, verb) && what !== '' ? fill(verbs[verb] ?? '', { what }) : scope
}

/**
 * How many tries a sign-in has left, and from the last three on what happens after them. Nothing
 * when the try was not counted.
 */
export function triesWords(
  triesLeft: number | undefined,
  texts: { readonly triesLeft: string; readonly triesFew: string; readonly triesLast: string },
  site: string,
): string {
  if (triesLeft === undefined) return ''
  const text = triesLeft > 3 ? texts.triesLeft : triesLeft > 1 ? texts.triesFew : texts.triesLast
  return fill(text, { count: String(triesLeft), site })
}
