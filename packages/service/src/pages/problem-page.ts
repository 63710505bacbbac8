import { type ProblemCode, problems } from '@countersign/core/contract'
import { fill } from '../browser/describe.ts'
import { hostedPage } from './hosted-page.ts'
import { html } from './html.ts'
import type { Messages } from './messages.ts'

export interface Onward {
  /** The site that the user came from, and the target of its button. */
  readonly back?: { readonly site: string; readonly href: string }
  /** Where the user can try again; '' is the address of the page itself. */
  readonly again?: string
  /** 0: all tries of the sign-in have been used. */
  readonly triesLeft?: number | undefined
}

/**
 * A rejection as a page: what happened, what to do next, and the facts that support asks for.
 */
export function problemPage(
  code: ProblemCode,
  requestId: string,
  messages: Messages,
  onward: Onward = {},
): ReturnType<typeof hostedPage> {
  const { error, common } = messages
  const { back, again } = onward
  const { title, next } = describeProblem(code, messages, onward.triesLeft)
  return hostedPage({
    messages,
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

/** A rejection for users: what happened, and what to do next. */
export function describeProblem(
  code: ProblemCode,
  messages: Messages,
  triesLeft?: number,
): { readonly title: string; readonly next: string } {
  if (triesLeft === 0) return { title: messages.signIn.triesUsed, next: messages.signIn.triesUsedNext }
  const { title, remedy } = problems[code]
  return messages.problems[code] ?? { title, next: remedy }
}
