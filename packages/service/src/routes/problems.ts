import { problemCodes, problems as table } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import { renderDocsPage } from '../documents/frame.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { html } from '../pages/html.ts'
import type { PageRequest, Route } from '../route.ts'

/** GET /problems/{code}: a page for browsers, JSON for other clients. */
export const problemPage: Route<'problem_page'> = async ({ params: { code }, lines }) => {
  const { status, title, meaning, remedy, retryable = false } = table[code]
  if (!acceptsPage(lines)) {
    return {
      status: 200,
      contentType: 'application/json',
      body: { code, status, title, meaning, remedy, retryable },
    }
  }
  return renderDocsPage({
    title,
    description: meaning,
    path: `/problems/${code}`,
    body: html`<h1>${title}</h1>
<dl class="facts">
<dt>Code</dt><dd><code>${code}</code></dd>
<dt>Status</dt><dd>${status}</dd>
<dt>What it means</dt><dd>${meaning}</dd>
<dt>What to do</dt><dd>${remedy}</dd>
<dt>Trying again</dt><dd>${retryable ? 'The same request may succeed later.' : 'The same request will be rejected again.'}</dd>
</dl>
<p><a href="/problems">All codes</a> · <a href="/docs">Documentation</a> · <a href="/docs/guides/for-users">Help for people who sign in</a></p>`,
  })
}

/** GET /problems: all codes, as a page for browsers and as JSON for programs. */
export function problemsPage({ lines }: PageRequest): RouteAnswer {
  if (!acceptsPage(lines)) {
    const items = problemCodes.map((code) => ({ code, status: table[code].status, title: table[code].title }))
    return { status: 200, contentType: 'application/json', body: { items } }
  }
  return renderDocsPage({
    title: 'Problem codes',
    description: 'Every code that a rejected request can be answered with, and what to do.',
    path: '/problems',
    body: html`<h1>Problem codes</h1>
<p>Each rejected request is answered with one of these codes. The page of a code says what it means and what to do.</p>
<ul class="endpoints">${problemCodes.map((code) => html`<li><span class="method">${table[code].status}</span> <a href="/problems/${code}"><code>${code}</code></a> ${table[code].title}</li>`)}</ul>`,
  })
}
