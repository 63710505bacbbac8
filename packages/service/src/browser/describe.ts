/** Fills the placeholders of a text. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? placeholder) : placeholder,
  )
}

/** What a scope allows, or the scope itself when its verb is unknown. */
export function describeScope(scope: string, verbs: Readonly<Record<string, string>>): string {
  const parts = scope.split(':')
  const verb = parts.pop() ?? ''
  const what = parts
    .join(' ')
    .replaceAll(/[_./-]+/g, ' ')
    .trim()
  return Object.hasOwn(verbs, verb) && what !== '' ? fill(verbs[verb] ?? '', { what }) : scope
}

/**
 * How many tries a sign-in has left; the last three come with a warning. '' when the try was not
 * counted.
 */
export function describeTriesLeft(
  triesLeft: number | undefined,
  messages: { readonly triesLeft: string; readonly triesFew: string; readonly triesLast: string },
  site: string,
): string {
  if (triesLeft === undefined) return ''
  const text = triesLeft > 3 ? messages.triesLeft : triesLeft > 1 ? messages.triesFew : messages.triesLast
  return fill(text, { count: String(triesLeft), site })
}
