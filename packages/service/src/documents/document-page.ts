import type { RouteAnswer } from '../answer.ts'
import { type Html, html } from '../pages/html.ts'
import { DECISIONS_URL, type Document, type Documents } from './documents.ts'
import { type ExampleNames, fillMarkup, fillText } from './examples.ts'
import { renderDocsPage } from './frame.ts'
import { findNeighbors } from './navigation.ts'

/**
 * The page, its Markdown, the picture or the list of decisions at an address below /docs, if there
 * is one. It is rendered when the returned function is called.
 */
export function findDocument(
  documents: Documents,
  url: string,
  names: ExampleNames,
): (() => RouteAnswer) | undefined {
  const page = documents.page(url)
  if (page !== undefined) return () => documentPage(page, names)
  if (url === DECISIONS_URL) return () => decisionsPage(documents)
  const source = url.endsWith('.md') ? documents.page(url.slice(0, -'.md'.length)) : undefined
  if (source !== undefined) return () => markdownAnswer(fillText(source.markdown, names))
  const picture = documents.picture(url)
  return picture && (() => ({ status: 200, headers: PICTURE_HEADERS, ...picture }))
}

/**
 * A picture that is opened by itself is a document too: no script may run in it. Drawings have
 * their colors in a style of their own.
 */
const PICTURE_HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

const TEXT_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
}

export function markdownAnswer(body: string): RouteAnswer {
  return { status: 200, contentType: 'text/markdown; charset=utf-8', headers: TEXT_HEADERS, body }
}

export function textAnswer(body: string): RouteAnswer {
  return { status: 200, contentType: 'text/plain; charset=utf-8', headers: TEXT_HEADERS, body }
}

function documentPage(
  { title, description, url, headings, content }: Document,
  names: ExampleNames,
): RouteAnswer {
  const crumbs = url.startsWith(`${DECISIONS_URL}/`)
    ? {
        crumbs: [
          { title: 'Docs', url: '/docs' },
          { title: 'Decisions', url: DECISIONS_URL },
        ],
      }
    : {}
  return renderDocsPage({
    title,
    description,
    path: url,
    body: { markup: fillMarkup(content.markup, names) },
    contents: headings,
    markdownUrl: `${url}.md`,
    ...crumbs,
    ...findNeighbors(url),
  })
}

function decisionsPage(documents: Documents): RouteAnswer {
  const decisions = documents.pages.filter(({ path }) => path.startsWith('docs/decisions/'))
  return renderDocsPage({
    title: 'Decisions',
    description: 'Why Countersign works as it does: one page for each decision.',
    path: DECISIONS_URL,
    body: html`<h1>Decisions</h1>\n<p class="lead">Why Countersign works as it does, one page for each decision.</p>\n<ul>\n${decisions.map(linked)}</ul>`,
    ...findNeighbors(DECISIONS_URL),
  })
}

const linked = ({ url, title }: Document): Html => html`<li><a href="${url}">${title}</a></li>\n`
