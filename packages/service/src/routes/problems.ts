import { problems as table } from '@countersign/core/contract'
import { html } from '../pages/html.ts'
import { page } from '../pages/page.ts'
import type { Route } from './route.ts'

/** GET /problems/{code}: a page for browsers, JSON for everybody else. */
export const problemPage: Route<'problem_page'> = async ({ params: { code }, lines }) => {
  const { status, title, meaning, remedy, retryable = false } = table[code]
  if (!/\btext\/html\b/i.test(lines('accept')?.join(',') ?? '')) {
    return { status: 200, contentType: 'application/json', body: { code, status, title, meaning, remedy, retryable } }
  }
  return page(
    title,
    html`<h1>${title}</h1>
<dl>
<dt>Code</dt><dd><code>${code}</code></dd>
<dt>Status</dt><dd>${status}</dd>
<dt>What it means</dt><dd>${meaning}</dd>
<dt>What to do</dt><dd>${remedy}</dd>
<dt>Trying again</dt><dd>${retryable ? 'The same request may succeed later.' : 'The same request will be refused again.'}</dd>
</dl>
<p><a href="/docs">All endpoints and codes</a></p>`,
  )
}
