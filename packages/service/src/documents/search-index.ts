import type { Token, Tokens } from 'marked'
import type { Heading } from './markdown.ts'
import { plainText } from './plain-text.ts'

/** One place that the search can find: a page, a section of one, or a row of a table. */
export interface SearchEntry {
  readonly url: string
  /** The title of its page. */
  readonly page: string
  /** The heading of the section; the title of the page at its start. */
  readonly title: string
  readonly text: string
}

export interface SearchResult {
  readonly entry: SearchEntry
  /** The words of the query, to be marked in what is shown. */
  readonly terms: readonly string[]
}

export interface SearchIndex {
  /** The best places first. Only the first 100 characters and 8 words of the query count. */
  find(query: string): readonly SearchResult[]
}

export const QUERY_CHARS_MAX = 100
const TERMS_MAX = 8
const RESULTS_MAX = 20
const RESULTS_OF_PAGE_MAX = 3
/** How many words with the same beginning a term may match. */
const WORDS_OF_PREFIX_MAX = 200

/** The sections of a document. A row of a table that has an anchor is a section of its own. */
export function createEntries(
  url: string,
  page: string,
  tokens: readonly Token[],
  headings: readonly Heading[],
): readonly SearchEntry[] {
  const entries: SearchEntry[] = []
  let left = [...headings]
  let section = { url, title: page, texts: [] as string[] }
  const finish = () =>
    entries.push({ url: section.url, page, title: section.title, text: squeeze(section.texts) })
  for (const token of tokens) {
    if (token.type === 'heading') {
      const [heading, ...others] = left
      left = others
      if (heading === undefined || heading.level === 1 || heading.level > 3) continue
      finish()
      section = { url: `${url}#${heading.id}`, title: heading.text, texts: [] }
    } else if (token.type === 'table') {
      const rows = (token as Tokens.Table).rows.map((row) => createRowEntry(url, page, row))
      entries.push(...rows.filter((row) => row !== undefined))
      if (rows.includes(undefined)) section.texts.push(plainText([token]))
    } else section.texts.push(plainText([token]))
  }
  finish()
  return entries
}

function createRowEntry(
  url: string,
  page: string,
  row: readonly Tokens.TableCell[],
): SearchEntry | undefined {
  const id = /<a id="([\w-]{1,64})">/.exec(row[0]?.text ?? '')?.[1]
  if (id === undefined) return undefined
  const [title = '', ...others] = row.map(({ tokens }) => plainText(tokens))
  return { url: `${url}#${id}`, page, title: title.trim(), text: squeeze(others) }
}

function squeeze(texts: readonly string[]): string {
  return texts.join(' ').replaceAll(/\s+/g, ' ').trim()
}

/** Pages that answer fewer questions than the others. */
const LESS_ASKED = /^\/docs\/(?:decisions\/|changelog|attacks|contributing|architecture)/

/** An index from words to the places that contain them. */
export function createSearchIndex(entries: readonly SearchEntry[]): SearchIndex {
  const places = new Map<string, Map<number, number>>()
  const add = (text: string, entry: number, weight: number) => {
    for (const word of splitWords(text)) {
      const found = places.get(word) ?? new Map<number, number>()
      // Repetitions count less and less.
      found.set(entry, (found.get(entry) ?? 0) * 0.6 + weight)
      places.set(word, found)
    }
  }
  for (const [i, { page, title, text }] of entries.entries()) {
    add(text, i, 1)
    add(page, i, 4)
    if (title !== page) add(title, i, 8)
    else add(title, i, 6)
  }
  const words = [...places.keys()].sort()

  /** What a term is worth at each place. */
  const weigh = (term: string): ReadonlyMap<number, number> => {
    const weights = new Map<number, number>()
    const first = findFirst(words, term)
    for (const word of words.slice(first, first + WORDS_OF_PREFIX_MAX)) {
      if (!word.startsWith(term)) break
      const found = places.get(word) as ReadonlyMap<number, number>
      const rarity = Math.log(1 + entries.length / found.size)
      const closeness = word === term ? 2 : term.length / word.length
      for (const [entry, weight] of found)
        weights.set(entry, Math.max(weights.get(entry) ?? 0, weight * rarity * closeness))
    }
    return weights
  }

  return {
    find(query) {
      const terms = parseQuery(query)
      const weights = terms.map(weigh)
      const scores = new Map<number, { count: number; score: number }>()
      for (const weighed of weights) {
        for (const [entry, weight] of weighed) {
          const known = scores.get(entry) ?? { count: 0, score: 0 }
          scores.set(entry, { count: known.count + 1, score: known.score + weight })
        }
      }
      // Places with more of the words come first, whatever the others are worth.
      const ranked = [...scores]
        .map(([i, { count, score }]) => {
          const entry = entries[i] as SearchEntry
          return { entry, count, score: LESS_ASKED.test(entry.url) ? score / 3 : score }
        })
        .sort((a, b) => b.count - a.count || b.score - a.score)
      const most = ranked[0]?.count ?? 0
      return limitPages(ranked.filter(({ count }) => count === most)).map(({ entry }) => ({ entry, terms }))
    },
  }
}

/** The first results, and not too many of the same page. */
function limitPages<Ranked extends { readonly entry: SearchEntry }>(
  ranked: readonly Ranked[],
): readonly Ranked[] {
  const counts = new Map<string, number>()
  const kept: Ranked[] = []
  for (const one of ranked) {
    const count = counts.get(one.entry.page) ?? 0
    if (count === RESULTS_OF_PAGE_MAX) continue
    counts.set(one.entry.page, count + 1)
    kept.push(one)
    if (kept.length === RESULTS_MAX) break
  }
  return kept
}

/** The words of a query. */
function parseQuery(query: string): readonly string[] {
  const words = query.slice(0, QUERY_CHARS_MAX).toLowerCase().match(WORD) ?? []
  return [...new Set(words)].slice(0, TERMS_MAX)
}

const WORD = /[\p{L}\p{N}_]+/gu

/** `credential_revoked` can be found by the whole name and by each of its words. */
function splitWords(text: string): readonly string[] {
  const words = text.toLowerCase().match(WORD) ?? []
  return words.flatMap((word) =>
    word.includes('_') ? [word, ...word.split('_').filter((part) => part !== '')] : [word],
  )
}

/** The position of the first word that is not before `term`. */
function findFirst(words: readonly string[], term: string): number {
  let [low, high] = [0, words.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((words[middle] as string) < term) low = middle + 1
    else high = middle
  }
  return low
}
