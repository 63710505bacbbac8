import type { RouteAnswer } from '../answer.ts'
import { assets } from '../pages/assets.ts'
import { type Html, html } from '../pages/html.ts'
import { SERVICE_VERSION } from '../version.ts'
import { ICONS } from './icons.ts'
import type { Heading } from './markdown.ts'
import { findGroup, type Link, type LinkGroup, navigationGroups } from './navigation.ts'

/**
 * A page with the frame of the documentation: header with search, navigation, text, "On this page"
 * and footer.
 *
 *     renderDocsPage({
 *       title: 'Revoke a user',
 *       description: 'Revokes all access of a user at once.',
 *       path: '/docs/api/revoke_user',
 *       body: html`<h1>Revoke a user</h1> …`,
 *     })
 *
 * The body is the content of `<main>` and starts with the `<h1>`. Everything that `style.ts` has a
 * class for can be used in it: `lead`, `code` blocks (`renderCode`), `notice`, `cards`, `params`,
 * `aside`. Inline styles and scripts do not work (CSP).
 */
export interface DocsPage {
  readonly title: string
  /** One sentence for search engines and previews. */
  readonly description: string
  /** The address of the page, which is marked in the navigation. */
  readonly path: string
  readonly body: Html
  /** The headings that are listed under "On this page"; those of level 2 and 3. */
  readonly contents?: readonly Heading[]
  readonly previous?: Link | undefined
  readonly next?: Link | undefined
  /**
   * What is above the title; a part without `url` is text. Default: the group of the page in the
   * navigation.
   */
  readonly crumbs?: readonly { readonly title: string; readonly url?: string }[]
  /** The same page as Markdown. */
  readonly markdownUrl?: string
  /**
   * `text`: navigation, a column of text, contents. `wide`: the body takes the place of the
   * contents too, and can have an `<aside class="aside">`. `front`: no navigation
   * beside the text; narrow windows have it in the menu.
   */
  readonly layout?: 'text' | 'wide' | 'front'
  /** The public address of the service, for the picture in previews. */
  readonly baseUrl?: string
  /** Default 200. */
  readonly status?: number
}

/** Scripts, styles and pictures of this origin only; forms lead to this origin only. */
export const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

export function renderDocsPage(page: DocsPage): RouteAnswer {
  const { title, description, path, body, layout = 'text', status = 200, markdownUrl, baseUrl } = page
  const contents = listContents(page.contents ?? [])
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" media="(prefers-color-scheme: light)" content="#f6f8f6">
<meta name="theme-color" media="(prefers-color-scheme: dark)" content="#0f1412">
<meta name="description" content="${description}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<title>${title === 'Countersign' ? title : `${title} · Countersign`}</title>
<meta property="og:type" content="website">
<meta property="og:site_name" content="Countersign">
${baseUrl === undefined ? '' : html`<meta property="og:image" content="${baseUrl}/docs/pictures/social.png">\n<meta name="twitter:card" content="summary_large_image">\n`}<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="icon" href="/favicon.ico" sizes="32x32" type="image/png">
<link rel="apple-touch-icon" href="/apple-touch-icon.png">
<link rel="stylesheet" href="${assets().path('docs.css')}">
${markdownUrl === undefined ? '' : html`<link rel="alternate" type="text/markdown" href="${markdownUrl}">\n`}<script type="module" src="${assets().path('docs')}"></script>
</head>
<body class="${layout}">
<a class="skip" href="#main">Skip to content</a>
${header(path)}
<div class="docs">
${sideNavigation(path)}
<main id="main" tabindex="-1">
${layout === 'front' ? '' : breadcrumbs(page)}
${layout === 'text' && contents !== undefined ? withContents(body, contents) : body}
${neighbors(page)}
</main>
${layout === 'text' && contents !== undefined ? html`<aside class="toc" aria-labelledby="on-this-page"><h2 id="on-this-page">On this page</h2>\n${contents}${pageEnd(markdownUrl)}</aside>` : ''}
</div>
${FOOTER}
</body>
</html>
`
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    headers: {
      'content-security-policy': DOCS_POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
    body: markup,
  }
}

const BRAND = html`${ICONS.seal}Countersign`

const TOP_LINKS: readonly Link[] = [
  { title: 'Docs', url: '/docs' },
  { title: 'API', url: '/docs/api' },
  { title: 'Compare', url: '/docs/comparison' },
  { title: 'Measurements', url: '/docs/bench' },
]

function header(path: string): Html {
  const current = [...TOP_LINKS].reverse().find(({ url }) => path === url || path.startsWith(`${url}/`))
  return html`<header class="top"><div class="top-in">
<a class="brand" href="/">${BRAND}</a>
<nav class="top-links" aria-label="Main">${TOP_LINKS.map(({ title, url }) => html`<a href="${url}"${currentMark(url === current?.url, path === url)}>${title}</a>`)}</nav>
<div class="top-end"><search><form class="search" action="/docs/search">${ICONS.search}<input type="search" name="q" aria-label="Search the docs" placeholder="Search the docs" maxlength="100" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd></form></search>
<span class="version" title="Version of this service">${SERVICE_VERSION}</span><a class="tool search-link" href="/docs/search" aria-label="Search the docs">${ICONS.search}</a><button class="tool menu" type="button" popovertarget="navigation" aria-label="All pages">${ICONS.menu}</button></div>
</div></header>`
}

/** `page` for the page itself, `true` for the part that it belongs to. */
function currentMark(isCurrent: boolean, isPage: boolean): Html | string {
  return isCurrent ? html` aria-current="${isPage ? 'page' : 'true'}"` : ''
}

/** One list of links, at the side of wide windows and in a popover of narrow ones. */
function sideNavigation(path: string): Html {
  const current = findGroup(path)
  const group = ({ name, links, isFolded = false }: LinkGroup) => html`<details${
    isFolded && current?.name !== name ? '' : html` open`
  }><summary>${name}</summary><ul>
${links.map(({ title, url }) => html`<li><a href="${url}"${url === path ? html` aria-current="page"` : ''}>${title}</a></li>\n`)}</ul></details>\n`
  return html`<nav class="side" id="navigation" aria-label="Documentation" popover>
<p class="side-head">All pages<button class="tool" type="button" popovertarget="navigation" popovertargetaction="hide" aria-label="Close">${ICONS.close}</button></p>
${navigationGroups(path).map(group)}</nav>`
}

function breadcrumbs({ path, title, crumbs }: DocsPage): Html | string {
  const group = findGroup(path)
  const links: NonNullable<DocsPage['crumbs']> = crumbs ?? [
    { title: 'Docs', url: '/docs' },
    ...(group === undefined ? [] : [{ title: group.name }]),
  ]
  if (path === '/docs' || title === 'Docs') return ''
  return html`<nav class="crumbs" aria-label="Breadcrumb"><ol class="trail">${links.map(({ title: text, url }) => (url === undefined ? html`<li>${text}</li>` : html`<li><a href="${url}">${text}</a></li>`))}</ol></nav>`
}

/** A page with fewer headings needs no list of them. */
const HEADINGS_MIN = 2

function listContents(headings: readonly Heading[]): Html | undefined {
  const listed = headings.filter(({ level }) => level === 2 || level === 3)
  if (listed.filter(({ level }) => level === 2).length < HEADINGS_MIN) return undefined
  // The headings of level 3 of a long page would make the list too long to be of use.
  const shown = listed.length > 24 ? listed.filter(({ level }) => level === 2) : listed
  return html`<ul>
${shown.map(({ level, id, text }) => html`<li${level === 3 ? html` class="deeper"` : ''}><a href="#${id}">${text}</a></li>\n`)}</ul>\n`
}

/**
 * Where there is no room beside the text, the contents follow the title and its introduction, and
 * can be unfolded.
 */
function withContents(body: Html, contents: Html): Html {
  const [title = ''] = /^[\s\S]*?<\/h1>\s*(?:<p class="lead">[\s\S]*?<\/p>)?/.exec(body.markup) ?? []
  const folded = html`\n<details class="toc-small"><summary>On this page</summary>\n${contents}</details>\n`
  return { markup: title + folded.markup + body.markup.slice(title.length) }
}

function neighbors({ previous, next }: DocsPage): Html | string {
  if (previous === undefined && next === undefined) return ''
  return html`<nav class="neighbors" aria-label="Previous and next page">${
    previous === undefined
      ? ''
      : html`<a class="previous" rel="prev" href="${previous.url}"><span>Previous</span>${previous.title}</a>`
  }${next === undefined ? '' : html`<a class="next" rel="next" href="${next.url}"><span>Next</span>${next.title}</a>`}</nav>`
}

function pageEnd(markdownUrl: string | undefined): Html | string {
  return markdownUrl === undefined
    ? ''
    : html`<p class="page-end"><a href="${markdownUrl}">View as Markdown</a></p>`
}

const FOOTER = html`<footer class="foot"><div class="foot-in"><a class="brand" href="/">${BRAND} ${SERVICE_VERSION}</a>
<a href="/docs">Docs</a><a href="/problems">Problem codes</a><a href="/openapi.json">OpenAPI</a><a href="/docs/security">Security</a><a href="/docs/changelog">Changelog</a><a href="/docs/guides/for-users">Help with signing in</a></div></footer>`
