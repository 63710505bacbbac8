import type { RouteAnswer } from '../answer.ts'
import { type Html, html } from '../pages/html.ts'
import { page } from '../pages/page.ts'
import { DECISIONS_URL, type Document, type Documents } from './documents.ts'
import { sections } from './reading-order.ts'

/** The page, the picture or the list of decisions at an address below /docs, if there is one. */
export function findDocument(documents: Documents, url: string): RouteAnswer | undefined {
  const found = documents.page(url)
  if (found !== undefined) return documentPage(documents, found)
  if (url === DECISIONS_URL) return decisionsPage(documents)
  const picture = documents.picture(url)
  return picture && { status: 200, headers: PICTURE_HEADERS, ...picture }
}

/** A picture that is opened by itself is a document too: no script may run in it. */
const PICTURE_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

/** A page with at least so many headings has a list of them. */
const HEADINGS_MIN = 4

function documentPage(documents: Documents, { title, url, headings, content }: Document): RouteAnswer {
  const listed = headings.filter(({ level }) => level === 2)
  const list = html`<nav class="contents" aria-labelledby="on-this-page"><p id="on-this-page">On this page</p><ul>
${listed.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>\n`)}</ul></nav>\n`
  // The list follows the title, with which the content starts.
  const [head = '', ...rest] = content.markup.split('</h1>\n')
  const whole = {
    markup:
      rest.length === 0
        ? content.markup
        : `${head}</h1>\n${listed.length < HEADINGS_MIN ? '' : list.markup}${rest.join('</h1>\n')}`,
  }
  return page(title, whole, { navigation: navigation(documents, url), hasPictures: true })
}

function decisionsPage(documents: Documents): RouteAnswer {
  const decisions = documents.pages.filter(({ path }) => path.startsWith('docs/decisions/'))
  const content = html`<h1>Decisions</h1>\n<p>Why things are as they are, one page for each.</p>\n<ul>\n${decisions.map(linked)}</ul>`
  return page('Decisions', content, { navigation: navigation(documents, DECISIONS_URL) })
}

/** Links to all documents, in sections by reader. The current one is marked. */
export function navigation(documents: Documents, current: string): Html {
  const entry = (url: string, title: string) =>
    html`<li><a href="${url}"${url === current ? html` aria-current="page"` : ''}>${title}</a></li>\n`
  const groups = sections.map(({ name, paths }, i) => {
    const found = paths.flatMap((path) => documents.pages.filter((one) => one.path === path))
    const entries = found.map(({ url, title, path }) => entry(url, path === 'README.md' ? 'Read me' : title))
    if (i === 0) entries.unshift(entry('/docs', 'Endpoints and codes'))
    if (i === sections.length - 1) entries.push(entry(DECISIONS_URL, 'Decisions'))
    return entries.length === 0 ? html`` : html`<h2>${name}</h2>\n<ul>\n${entries}</ul>\n`
  })
  return html`<nav class="sections" aria-label="Documentation"><details><summary>All pages</summary>\n${groups}</details></nav>`
}

const linked = ({ url, title }: Document) => html`<li><a href="${url}">${title}</a></li>\n`
