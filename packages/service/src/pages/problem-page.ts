import { type ProblemCode, problems } from '@countersign/core/contract'
import { hostedPage } from './hosted-page.ts'
import { html } from './html.ts'
import type { Texts } from './texts.ts'

/** What a person is told of a refusal: what happened, what to do, and what to tell whoever helps. */
export function problemPage(code: ProblemCode, requestId: string, texts: Texts): ReturnType<typeof hostedPage> {
  const { error, common } = texts
  const { title, next } = problemWords(code, texts)
  return hostedPage({
    texts,
    title: error.title,
    content: html`<section class="card">
<p class="eyebrow">${error.title}</p>
<h1>${title}</h1>
<h2>${error.what}</h2>
<p>${next}</p>
<div class="facts">
<p class="quiet">${error.help}</p>
<dl>
<dt>${common.code}</dt><dd><a href="/problems/${code}"><code>${code}</code></a></dd>
<dt>${common.requestId}</dt><dd><code>${requestId}</code></dd>
</dl>
</div>
</section>`,
  })
}

/** A refusal in words for people. */
export function problemWords(code: ProblemCode, texts: Texts): { readonly title: string; readonly next: string } {
  const { title, remedy } = problems[code]
  return texts.problems[code] ?? { title, next: remedy }
}
