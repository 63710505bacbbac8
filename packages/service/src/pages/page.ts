import type { RouteAnswer } from '../routes/route.ts'
import { type Html, html } from './html.ts'

export const STYLE_PATH = '/docs.css'

/** Nothing may run and nothing may be fetched but the one style sheet of this origin. */
const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** A page of words for people. */
export function page(title: string, content: Html): RouteAnswer {
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Countersign</title>
<link rel="stylesheet" href="${STYLE_PATH}">
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    headers: {
      'content-security-policy': POLICY,
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
  body: `:root { color-scheme: light dark; --line: #8884; --quiet: #777; --accent: #0a6; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; text-transform: capitalize; }
p { margin: .5rem 0; max-width: 46rem; }
a { color: inherit; text-decoration-color: var(--accent); text-underline-offset: .2em; }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code { font: .92em ui-monospace, monospace; }
.quiet { color: var(--quiet); }
.endpoints { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
.endpoints > li { padding: .75rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4.5em; font-weight: 600; color: var(--accent); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; }
dt { color: var(--quiet); }
dd { margin: 0; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .5rem; } }
`,
}
