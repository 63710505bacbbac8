import type { RouteAnswer } from '../answer.ts'
import { documentStyle } from './document-style.ts'
import { type Html, html } from './html.ts'
import { MARK } from './mark.ts'

export const STYLE_PATH = '/docs.css'

/** Only the style sheet of this origin may be loaded, and no script may run. */
const POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/** The same, with pictures of this origin. */
const POLICY_WITH_PICTURES = POLICY.replace("style-src 'self'", "style-src 'self'; img-src 'self'")

export interface PageParts {
  /** Lists of links beside the content. */
  readonly navigation?: Html
  readonly hasPictures?: boolean
}

/** A page for readers: documents, codes, the front page. */
export function page(
  title: string,
  content: Html,
  { navigation, hasPictures = false }: PageParts = {},
): RouteAnswer {
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Countersign</title>
<link rel="stylesheet" href="${STYLE_PATH}">
</head>
<body${navigation === undefined ? '' : html` class="beside"`}>
<a class="skip" href="#content">Skip to the content</a>
<header><a class="mark" href="/docs">${MARK}Countersign</a></header>
${navigation ?? ''}
<main id="content" tabindex="-1">
${content}
</main>
</body>
</html>
`
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    headers: {
      'content-security-policy': hasPictures ? POLICY_WITH_PICTURES : POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
    body: markup,
  }
}

export const style: RouteAnswer = {
  status: 200,
  contentType: 'text/css; charset=utf-8',
  headers: { 'cache-control': 'public, max-age=300', 'x-content-type-options': 'nosniff' },
  body: documentStyle,
}
