import { setImmediate } from 'node:timers/promises'
import type { RouteAnswer } from '../answer.ts'
import { type Html, html } from '../pages/html.ts'
import { referenceEntries } from '../reference/search-entries.ts'
import { documents } from './documents.ts'
import { renderDocsPage } from './frame.ts'
import { ICONS } from './icons.ts'
import { createExcerpt, type ExcerptPart, markWords } from './search-excerpt.ts'
import { createSearchIndex, QUERY_CHARS_MAX, type SearchIndex, type SearchResult } from './search-index.ts'

export const SEARCH_URL = '/docs/search'

let kept: Promise<SearchIndex> | undefined

/** The index of everything under /docs, built at the first search. */
function searchIndex(): Promise<SearchIndex> {
  kept ??= createIndex()
  return kept
}

/** Page by page, with other requests in between. */
async function createIndex(): Promise<SearchIndex> {
  const all = [...referenceEntries]
  for (const { entries } of documents().pages) {
    all.push(...entries)
    await setImmediate()
  }
  return createSearchIndex(all)
}

/** The results as JSON, for the script of the pages. */
export async function searchResults(query: string): Promise<RouteAnswer> {
  const index = await searchIndex()
  const results = index
    .find(query)
    .map((result) => ({ ...describe(result), url: result.entry.url, page: result.entry.page }))
  return {
    status: 200,
    contentType: 'application/json',
    headers: { vary: 'accept', 'x-content-type-options': 'nosniff' },
    body: JSON.stringify({ results }),
  }
}

/** GET /docs/search: a page with a form, which works without a script. */
export async function searchPage(query: string): Promise<RouteAnswer> {
  const asked = query.slice(0, QUERY_CHARS_MAX)
  const results = (await searchIndex()).find(asked)
  const found =
    asked.trim() === ''
      ? ''
      : html`<p class="quiet" role="status">${sayCount(results.length)} for “${asked}”</p>\n<ul class="results">\n${results.map(shown)}</ul>`
  const page = renderDocsPage({
    title: asked.trim() === '' ? 'Search' : `${asked} · Search`,
    description: 'Search the documentation of Countersign.',
    path: SEARCH_URL,
    body: html`<h1>Search</h1>
<form class="search search-page" action="${SEARCH_URL}">${ICONS.search}<input type="search" name="q" value="${asked}" aria-label="Search the docs" placeholder="For example credential_revoked" maxlength="${QUERY_CHARS_MAX}" autocomplete="off" spellcheck="false" autofocus><button class="copy" type="submit">Search</button></form>
${found}
${asked.trim() !== '' && results.length === 0 ? html`<p>Check the spelling, use fewer words, or start from <a href="/docs">all topics</a>.</p>` : ''}`,
  })
  return { ...page, headers: { ...page.headers, vary: 'accept' } }
}

const sayCount = (count: number): string =>
  count === 0 ? 'No results' : count === 1 ? '1 result' : `${count} results`

function describe({ entry: { title, text }, terms }: SearchResult): {
  readonly title: readonly ExcerptPart[]
  readonly excerpt: readonly ExcerptPart[]
} {
  return { title: markWords(title, terms), excerpt: createExcerpt(text, terms) }
}

function shown(result: SearchResult): Html {
  const { title, excerpt } = describe(result)
  return html`<li><a class="result" href="${result.entry.url}"><b>${marked(title)}</b><small>${result.entry.page}</small><p>${marked(excerpt)}</p></a></li>\n`
}

const marked = (parts: readonly ExcerptPart[]): readonly Html[] =>
  parts.map(({ text, isHit }) => (isHit ? html`<mark>${text}</mark>` : html`${text}`))
