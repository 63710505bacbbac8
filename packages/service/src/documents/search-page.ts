import type { RouteAnswer } from '../answer.ts'
import { html } from '../pages/html.ts'
import { renderDocsPage } from './frame.ts'

export const SEARCH_URL = '/docs/search'

/** GET /docs/search */
export function searchPage(): RouteAnswer {
  return renderDocsPage({
    title: 'Search',
    description: 'Search the documentation of Countersign.',
    path: SEARCH_URL,
    body: html`<h1>Search</h1>`,
  })
}
