import { problems } from '@countersign/core/contract'
import type { Problem } from '../problem.ts'
import { hostedPage } from './hosted-page.ts'
import { html } from './html.ts'
import { messages } from './messages.ts'

/** A rejected sign-in to the console: what happened, and how to go on. */
export function consoleProblemPage(
  { code, detail }: Pick<Problem, 'code' | 'detail'>,
  requestId: string,
): ReturnType<typeof hostedPage> {
  const { title, remedy } = problems[code]
  const { common, error } = messages
  return hostedPage({
    messages,
    title,
    content: html`<section class="card">
<p class="eyebrow">${error.console}</p>
<h1>${title}</h1>
<p>${detail ?? remedy}</p>
<div class="actions onward"><a class="button primary" href="/console">${error.toConsole}</a></div>
<div class="facts">
<p class="quiet">${error.help}</p>
<dl>
<dt>${common.code}</dt><dd><code>${code}</code></dd>
<dt>${common.requestId}</dt><dd><code>${requestId}</code></dd>
</dl>
</div>
</section>`,
  })
}
