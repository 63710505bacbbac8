import { type ProblemCode, problems } from '@countersign/core/contract'
import { fill } from '../browser/words.ts'
import { hostedPage } from './hosted-page.ts'
import { html } from './html.ts'
import type { Texts } from './texts.ts'

export interface Onward {
  /** The site that the person came from, and where its button leads. */
  readonly back?: { readonly site: string; readonly href: string }
  /** Where the same can be tried again; '' is the address of the page itself. */
  readonly again?: string
  /** 0: all tries of the sign-in have been used. */
  readonly triesLeft?: number | undefined
}

/**
 * What a person is told of a refusal: what happened, what to do, where to go from here, and what to
 * tell the person who helps.
 */
export function problemPage(
  code: ProblemCode,
  requestId: string,
  texts: Texts,
  onward: Onward = {},
): ReturnType<typeof hostedPage> {
  const { error, common } = texts
  const { back, again } = onward
  const { title, next } = problemWords(code, texts, onward.triesLeft)
  return hostedPage({
    texts,
    title: error.title,
    content: html`<section class="card">
<p class="eyebrow">${error.title}</p>
<h1>${title}</h1>
<p>${next}</p>
<div class="actions onward">
${again === undefined ? '' : html`<a class="button primary" href="${again}">${common.again}</a>`}
${back === undefined ? '' : html`<a class="${again === undefined ? 'button primary' : 'button'}" href="${back.href}">${fill(common.backTo, { site: back.site })}</a>`}
${back === undefined ? html`<a class="button" href="/">${error.start}</a>` : ''}
<a class="button" href="/wallet">${error.wallet}</a>
<a class="button" href="/docs/guides/for-users">${error.guide}</a>
</div>
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
export function problemWords(
  code: ProblemCode,
  texts: Texts,
  triesLeft?: number,
): { readonly title: string; readonly next: string } {
  if (triesLeft === 0) return { title: texts.signIn.triesUsed, next: texts.signIn.triesUsedNext }
  const { title, remedy } = problems[code]
  return texts.problems[code] ?? { title, next: remedy }
}
