import { ar } from './languages/ar.ts'
import { de } from './languages/de.ts'
import { en } from './languages/en.ts'
import { es } from './languages/es.ts'
import { fr } from './languages/fr.ts'
import { it } from './languages/it.ts'
import { ja } from './languages/ja.ts'
import { nl } from './languages/nl.ts'
import { ptBr } from './languages/pt-br.ts'
import { zhHans } from './languages/zh-hans.ts'
import type { Messages } from './messages.ts'

/** Every language of the pages, in the order of the menu. */
export const languages: readonly Messages[] = [en, de, fr, es, ptBr, it, nl, ja, zhHans, ar]

export const english: Messages = en

/** Longer header fields are ignored: browsers send a few languages. */
const FIELD_CHARS_MAX = 500
const RANGES_MAX = 20
const RANGE = /^([a-z]{1,8}(?:-[a-z0-9]{1,8}){0,4}|\*)(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/**
 * The language of a page: the first known one of `ui_locales` (OpenID Connect Core §3.1.2.1, tags
 * separated by spaces), else what the browser prefers (`Accept-Language`), else English.
 */
export function chooseLanguage(uiLocales: string | undefined, acceptLanguage: string | undefined): Messages {
  const wanted = (uiLocales ?? '').slice(0, FIELD_CHARS_MAX).split(' ').slice(0, RANGES_MAX)
  return findFirst([...wanted, ...parseAcceptLanguage(acceptLanguage)], languages) ?? english
}

/** The first of these languages that the browser prefers. Undefined when it wants none of them. */
export function acceptedLanguage<Language extends { readonly lang: string }>(
  acceptLanguage: string | undefined,
  known: readonly Language[],
): Language | undefined {
  return findFirst(parseAcceptLanguage(acceptLanguage), known)
}

function findFirst<Language extends { readonly lang: string }>(
  tags: readonly string[],
  known: readonly Language[],
): Language | undefined {
  for (const tag of tags) {
    const found = findLanguage(tag, known)
    if (found !== undefined) return found
  }
  return undefined
}

/** RFC 9110 §12.5.4. The most preferred first; [] for a field that is malformed or too long. */
function parseAcceptLanguage(field = ''): readonly string[] {
  if (field.length > FIELD_CHARS_MAX) return []
  const ranges = field.split(',').slice(0, RANGES_MAX)
  const parsed = ranges.map((range) => RANGE.exec(range.trim()))
  if (!parsed.every((match) => match !== null)) return []
  return parsed
    .map(([, tag = '', quality = '1']) => ({ tag, quality: Number(quality) }))
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag)
}

/** The language of a tag, whatever its region. Traditional Chinese is not served as simplified. */
function findLanguage<Language extends { readonly lang: string }>(
  tag: string,
  known: readonly Language[],
): Language | undefined {
  const [primary = '', ...subtags] = tag.toLowerCase().split('-')
  if (primary === 'zh' && ['hant', 'tw', 'hk', 'mo'].some((one) => subtags.includes(one))) return undefined
  return known.find(({ lang }) => lang.toLowerCase().split('-')[0] === primary)
}
