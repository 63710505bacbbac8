/** The texts with which scopes are described. */
export interface ScopeWords {
  readonly verbs: Readonly<Record<string, string>>
  readonly nouns: Readonly<Record<string, string>>
}

/** Fills the placeholders of a text. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? placeholder) : placeholder,
  )
}

/** Fills the form of a text that fits the number, which is its `{count}`. */
export function fillPlural(
  forms: Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string },
  count: number,
  lang: string,
  values: Readonly<Record<string, string>> = {},
): string {
  const form = forms[new Intl.PluralRules(lang).select(count)] ?? forms.other
  return fill(form, { ...values, count: new Intl.NumberFormat(lang).format(count) })
}

/** What a scope allows, or the scope itself when its verb is unknown. */
export function describeScope(scope: string, words: ScopeWords): string {
  const { verb, what } = splitScope(scope, words)
  const text = find(words.verbs, verb)
  return text !== undefined && what !== '' ? fill(text, { what }) : scope
}

/** The same for a list: to read and to write the same thing is one entry. */
export function describeScopes(scopes: readonly string[], words: ScopeWords): readonly string[] {
  const both = find(words.verbs, 'both')
  const described = scopes.map((scope) => {
    const { verb, resource, what } = splitScope(scope, words)
    const isBoth =
      both !== undefined &&
      what !== '' &&
      (verb === 'read' || verb === 'write') &&
      ['read', 'write'].every((one) => scopes.includes(`${resource}:${one}`))
    return isBoth ? fill(both, { what }) : describeScope(scope, words)
  })
  return [...new Set(described)]
}

function splitScope(scope: string, { nouns }: ScopeWords) {
  const parts = scope.split(':')
  const verb = parts.length > 1 ? (parts.pop() ?? '') : ''
  const resource = parts.join(':')
  const plain = parts
    .join(' ')
    .replaceAll(/[_./-]+/g, ' ')
    .trim()
  return { verb, resource, what: find(nouns, plain) ?? plain }
}

function find(words: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(words, name) ? words[name] : undefined
}

/**
 * How many tries a sign-in has left; the last three come with a warning. '' when the try was not
 * counted.
 */
export function describeTriesLeft(
  triesLeft: number | undefined,
  messages: { readonly triesLeft: Parameters<typeof fillPlural>[0]; readonly triesAfter: string },
  site: string,
  lang: string,
): string {
  if (triesLeft === undefined) return ''
  const text = fillPlural(messages.triesLeft, triesLeft, lang)
  return triesLeft > 3 ? text : `${text} ${fill(messages.triesAfter, { site })}`
}

/** One or two letters for a site without a logo. */
export function toMonogram(name: string): string {
  const words = name.split(/[\s./_-]+/).filter((word) => word !== '')
  return words
    .slice(0, 2)
    .map((word) => Array.from(word)[0] ?? '')
    .join('')
    .toUpperCase()
}

const TONES = 6

/** The colour of its monogram, always the same for the same site. */
export function toTone(siteId: string): number {
  return (
    Array.from(siteId).reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % TONES
  )
}
