/** The forms of a text with a number, by the categories of `Intl.PluralRules`. */
type Forms = Readonly<Record<string, string>>
type Words = Readonly<Record<string, string | Forms>>

/** The languages besides English, whose words are in the sources. Each is loaded on demand. */
const files: Readonly<Record<string, () => Promise<{ readonly default: Words }>>> = {
  ar: () => import('../languages/ar.json'),
}

/** As the page of the service says, which reads `Accept-Language`. */
const { document } = globalThis as { document?: { documentElement: { lang: string; dir: string } } }
const language = document?.documentElement.lang || 'en'
export const isRightToLeft: boolean = document?.documentElement.dir === 'rtl'
/** Modules that use words wait for this one, so that no word is shown in another language. */
const words: Words = (await files[language]?.())?.default ?? {}

/** For `Intl`. Digits are those of entries, ids and commands, so that people can compare them. */
const locale = `${language}-u-nu-latn`
/** For dates: the day comes before the month, and hours go up to 23. */
export const dateLocale = language === 'en' ? 'en-GB' : locale
const plurals = new Intl.PluralRules(language)

type Text = string | number
/** What an element may contain. */
type Child = object | string | number | bigint | boolean | null | undefined

/**
 * A text in the language of the page. The English one is its key. `{name}` is replaced by the value
 * of that name, which may also be an element.
 */
export function say(text: string, values?: Readonly<Record<string, Text>>): string
export function say(text: string, values: Readonly<Record<string, Child>>): Child
export function say(text: string, values?: Readonly<Record<string, Child>>): string | Child[] {
  return fill((words[text] ?? text) as string, values)
}

/** A text with a number, which is also the value of `{count}`. The key is the second text. */
export function sayCount(
  count: number,
  one: string,
  other: string,
  values?: Readonly<Record<string, Text>>,
): string
export function sayCount(
  count: number,
  one: string,
  other: string,
  values: Readonly<Record<string, Child>>,
): Child
export function sayCount(
  count: number,
  one: string,
  other: string,
  values?: Readonly<Record<string, Child>>,
): string | Child[] {
  const forms = (words[other] ?? { one, other }) as Forms
  return fill(forms[plurals.select(count)] ?? other, { count: formatCount(count), ...values })
}

function fill(text: string, values?: Readonly<Record<string, Child>>): string | Child[] {
  if (values === undefined) return text
  // Every second part is a name.
  const parts = text.split(/\{(\w+)\}/).map((part, i) => (i % 2 === 0 ? part : isolate(values[part])))
  return parts.some((part) => typeof part === 'object')
    ? (parts as Child[])
    : parts.filter((part) => part !== false).join('')
}

/** Ids and times keep their own direction, and do not move the words beside them. */
function isolate(value: Child): Child {
  return isRightToLeft && (typeof value === 'string' || typeof value === 'number')
    ? `\u2068${value}\u2069`
    : value
}

/** `a, b, c` */
export function sayList(words: readonly string[]): string {
  return words.map(isolate).join(say(', '))
}

/** `1,042` */
export function formatCount(count: number): string {
  return count.toLocaleString(locale)
}
