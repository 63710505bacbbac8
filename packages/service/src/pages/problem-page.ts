import { type ProblemCode, problems } from '@countersign/core/contract'
import type { ShownBrand } from '../brand/shown-brand.ts'
import { HELP_PATH, hostedPage } from './hosted-page.ts'
import { html } from './html.ts'
import { findProblemText, type Messages, type ProblemText } from './messages.ts'
import { brandLinks, fillHtml, identityRow, supportDetails } from './parts.ts'

export interface Onward {
  /** The site that the user came from, and the target of its button. */
  readonly back?: {
    readonly siteId: string
    readonly name: string | undefined
    readonly brand?: ShownBrand
    readonly href: string
  }
  /** Where the user can try again; '' is the address of the page itself. */
  readonly again?: string
  /** 0: all tries of the sign-in have been used. */
  readonly triesLeft?: number | undefined
  /** The address of this page in another language. */
  readonly toLanguage?: ((lang: string) => string) | undefined
  /** What is wrong with a link, for its author. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[] | undefined
}

/**
 * A rejection as a page: what happened, what to do next, one main button, and the facts that
 * support asks for.
 */
export function problemPage(
  code: ProblemCode,
  requestId: string,
  messages: Messages,
  onward: Onward = {},
): ReturnType<typeof hostedPage> {
  const { error, common } = messages
  const { back, again, errors = [] } = onward
  const { title, next } = describeProblem(code, messages, onward.triesLeft)
  const site = back && (back.name || back.siteId)
  const buttons = [
    ...(again === undefined ? [] : [{ href: again, label: html`${common.again}` }]),
    ...(back === undefined
      ? []
      : [{ href: back.href, label: html`${fillHtml(common.backTo, { site: site ?? '' })}` }]),
    { href: '/wallet', label: html`${error.wallet}` },
  ]
  return hostedPage({
    messages,
    title,
    script: { name: 'problem' },
    ...(onward.toLanguage === undefined ? {} : { toLanguage: onward.toLanguage }),
    accent: back?.brand?.accent,
    footer: back === undefined ? html`` : brandLinks(back, messages),
    content: html`${back === undefined ? '' : identityRow(back, messages)}
<section class="sheet">
<div class="glyph bad" aria-hidden="true"></div>
<p class="eyebrow">${error.title}</p>
<h1>${title}</h1>
<p>${next}</p>
<div class="stack">${buttons
      .slice(0, 2)
      .map(
        ({ href, label }, i) =>
          html`<a class="btn block ${i === 0 ? 'primary' : 'quiet'}" href="${href}">${label}</a>`,
      )}
${buttons.length > 1 ? '' : html`<a class="btn block quiet" href="${HELP_PATH}">${common.help}</a>`}</div>
${supportDetails(
  [
    [common.code, code],
    [common.requestId, requestId],
    [common.time, new Date().toISOString()],
    ...errors.slice(0, ERRORS_MAX).map(({ path, message }) => [path, message] as const),
  ],
  messages,
)}
</section>`,
  })
}

const ERRORS_MAX = 5

/** A rejection for users: what happened, and what to do next. */
export function describeProblem(code: ProblemCode, messages: Messages, triesLeft?: number): ProblemText {
  if (triesLeft === 0) return { title: messages.signIn.triesUsed, next: messages.signIn.triesUsedNext }
  const { title, remedy } = problems[code]
  return findProblemText(messages, code) ?? { title, next: remedy }
}
