import type { RouteAnswer } from '../answer.ts'
import { type Html, html } from '../pages/html.ts'
import { page } from '../pages/page.ts'
import { DECISIONS_URL, type Document, type Documents } from './documents.ts'
import { shelves } from './reading-order.ts'

/**
 * What is served at an address below /docs: a page, a picture, the list of decisions; undefined
 * when there is no such thing.
 */
export function documentAnswer(documents: Documents, url: string): RouteAnswer | undefined {
  const found = documents.page(url)
  if (found !== undefined) return documentPage(documents, found)
  if (url === DECISIONS_URL) return decisionsPage(documents)
  const picture = documents.picture(url)
  return picture === undefined
    ? undefined
    : { status: 200, contentType: 'image/svg+xml', headers: PICTURE_HEADERS, body: picture }
}

/** A picture that is opened by itself is a document, in which nothing may run either. */
const PICTURE_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

/** From here on a list of what is on the page helps. */
const SECTIONS_MIN = 4

function documentPage(documents: Documents, { title, url, headings, content }: Document): RouteAnswer {
  const sections = headings.filter(({ level }) => level === 2)
  const list = html`<nav class="contents" aria-labelledby="on-this-page"><p id="on-this-page">On this page</p><ul>
${sections.map(({ id, words }) => html`<li><a href="#${id}">${words}</a></li>\n`)}</ul></nav>\n`
  // It stands below the title, which is the first thing that the content has.
  const [head = '', ...rest] = content.markup.split('</h1>\n')
  const whole = {
    markup:
      rest.length === 0
        ? content.markup
        : `${head}</h1>\n${sections.length < SECTIONS_MIN ? '' : list.markup}${rest.join('</h1>\n')}`,
  }
  return page(title, whole, { navigation: navigation(documents, url), hasPictures: true })
}

function decisionsPage(documents: Documents): RouteAnswer {
  const decisions = documents.pages.filter(({ path }) => path.startsWith('docs/decisions/'))
  const content = html`<h1>Decisions</h1>\n<p>Why things are as they are, one page for each.</p>\n<ul>\n${decisions.map(linked)}</ul>`
  return page('Decisions', content, { navigation: navigation(documents, DECISIONS_URL) })
}

/** Every document by who needs it, with the one that is being read marked. */
export function navigation(documents: Documents, current: string): Html {
  const entry = (url: string, title: string) =>
    html`<li><a href="${url}"${url === current ? html` aria-current="page"` : ''}>${title}</a></li>\n`
  const groups = shelves.map(({ name, paths }, i) => {
    const found = paths.flatMap((path) => documents.pages.filter((one) => one.path === path))
    const entries = found.map(({ url, title, path }) => entry(url, path === 'README.md' ? 'Read me' : title))
    if (i === 0) entries.unshift(entry('/docs', 'Endpoints and codes'))
    if (i === shelves.length - 1) entries.push(entry(DECISIONS_URL, 'Decisions'))
    return entries.length === 0 ? html`` : html`<h2>${name}</h2>\n<ul>\n${entries}</ul>\n`
  })
  return html`<nav class="shelves" aria-label="Documentation"><details><summary>All pages</summary>\n${groups}</details></nav>`
}

const linked = ({ url, title }: Document) => html`<li><a href="${url}">${title}</a></li>\n`
