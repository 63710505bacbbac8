import { problems } from '@countersign/core/contract'
import type { Problem } from '../problem.ts'
import { english } from './choose-language.ts'
import { hostedPage } from './hosted-page.ts'
import { html } from './html.ts'
import { supportDetails } from './parts.ts'

/** A rejected sign-in to the console: what happened, and how to go on. */
export function consoleProblemPage(
  { code, detail }: Pick<Problem, 'code' | 'detail'>,
  requestId: string,
): ReturnType<typeof hostedPage> {
  const { title, remedy } = problems[code]
  const { common } = english
  return hostedPage({
    messages: english,
    title,
    script: { name: 'problem' },
    content: html`<section class="sheet">
<div class="glyph bad" aria-hidden="true"></div>
<p class="eyebrow">Sign-in to the console</p>
<h1>${title}</h1>
<p>${detail ?? remedy}</p>
<div class="stack"><a class="btn block primary" href="/console">Back to the sign-in page</a></div>
${supportDetails(
  [
    [common.code, code],
    [common.requestId, requestId],
  ],
  english,
)}
</section>`,
  })
}
