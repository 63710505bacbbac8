import {
  endpointList,
  generalProblems,
  type ProblemCode,
  problemCodes,
  problems,
} from '@countersign/core/contract'
import { type Html, html } from '../pages/html.ts'
import { findAdvice } from './advice-for-people.ts'
import { areas, toEndpointUrl } from './areas.ts'
import { codeTabs } from './code-tabs.ts'
import { withCode } from './code-words.ts'
import { withBreaks } from './endpoint-page.ts'
import { exampleProblem } from './example-tabs.ts'
import { prettyJson } from './pretty-json.ts'

/** A page about problems, without its frame. */
export interface ProblemPage {
  readonly title: string
  readonly description: string
  readonly body: Html
}

/** The page of a code: what a person can do, then what a developer needs to know. */
export function createProblemPage(code: ProblemCode, baseUrl: string): ProblemPage {
  const { status, title, meaning, remedy, retryable = false } = problems[code]
  const { text, button } = findAdvice(code)
  const related = findRelated(code)
  const returning = endpointList.filter(({ problems: own }) => (own as readonly string[]).includes(code))
  const isGeneral = (generalProblems as readonly string[]).includes(code)
  return {
    title,
    description: `${status} ${code}: ${meaning}`,
    body: html`<h1>${title}</h1>
<p class="endpoint-path"><span class="status no">${status}</span> <code>${withBreaks(code)}</code></p>
<section class="advice" aria-labelledby="for-people"><h2 id="for-people">If you were using a site or an app</h2>
<p>${text}</p>
<p class="actions"><a class="button primary" href="${button.url}">${button.label}</a></p></section>
<h2 id="for-developers"><a class="anchor" href="#for-developers">If you build or run it</a></h2>
<dl class="facts">
<dt>Cause</dt><dd>${withCode(meaning)}</dd>
<dt>What to do</dt><dd>${withCode(remedy)}</dd>
<dt>Retry</dt><dd>${describeRetry(status, retryable)}</dd>
</dl>
${codeTabs('Example', [{ name: `✕ ${status}`, mark: 'no', language: 'json', text: prettyJson(exampleProblem(code, baseUrl)) }])}
${related.length === 0 ? '' : html`<h2 id="related"><a class="anchor" href="#related">Related codes</a></h2>\n${codeList(related)}`}
<h2 id="endpoints"><a class="anchor" href="#endpoints">Where it occurs</a></h2>
${isGeneral ? html`<p>Every endpoint can return it.</p>` : returning.length === 0 ? html`<p>Guards in your application return it. No endpoint of this service does.</p>` : endpointLists(returning.map(({ id }) => id))}
<p><a href="/problems">All problem codes</a></p>`,
  }
}

function describeRetry(status: number, retryable: boolean): Html {
  if (!retryable) return html`No. The same request will be rejected again.`
  return status === 429 || status === 503
    ? html`Yes, after the seconds in <code>Retry-After</code>. The same request may succeed then.`
    : html`Yes, with the same <code>Idempotency-Key</code>. The same request may succeed later.`
}

const RELATED_MAX = 6

/** Codes with the same first word, or else with the same status. */
function findRelated(code: ProblemCode): readonly ProblemCode[] {
  const [word = ''] = code.split('_')
  const others = problemCodes.filter((one) => one !== code)
  const alike = others.filter((one) => one.startsWith(`${word}_`))
  const found =
    alike.length > 0 ? alike : others.filter((one) => problems[one].status === problems[code].status)
  return found.slice(0, RELATED_MAX)
}

const codeList = (codes: readonly ProblemCode[]): Html =>
  html`<ul class="endpoints codes">${codes.map((code) => html`<li><span class="status">${problems[code].status}</span> <a href="/problems/${code}"><code>${withBreaks(code)}</code></a> <span class="quiet">${problems[code].title}</span></li>\n`)}</ul>`

function endpointLists(ids: readonly string[]): Html {
  const found = areas.flatMap(({ title, endpoints }) => {
    const here = endpoints.filter(({ id }) => ids.includes(id))
    return here.length === 0 ? [] : [{ title, here }]
  })
  return html`<dl class="facts">${found.map(({ title, here }) => html`<dt>${title}</dt><dd>${here.map(({ id, summary }, i) => html`${i === 0 ? '' : ' · '}<a href="${toEndpointUrl(id)}">${summary}</a>`)}</dd>\n`)}</dl>`
}

/** All statuses that problems have, in order. */
export const problemStatuses: readonly number[] = [
  ...new Set(problemCodes.map((code) => problems[code].status)),
].sort((a, b) => a - b)

/** The list of all codes, or of those with one status. */
export function createProblemList(status?: number): ProblemPage {
  const codes = problemCodes.filter((code) => status === undefined || problems[code].status === status)
  const filter = (label: string, url: string, isCurrent: boolean) =>
    html`<li><a class="chip" href="${url}"${isCurrent ? html` aria-current="page"` : ''}>${label}</a></li>\n`
  return {
    title: status === undefined ? 'Problem codes' : `Problem codes with status ${status}`,
    description: 'Every code that a rejected request can be answered with, what it means and what to do.',
    body: html`<h1>Problem codes</h1>
<p class="lead">A rejected request is answered with one of these codes, as problem details (RFC 9457). The page of a code says what it means and what to do.</p>
<nav aria-label="Filter by status"><ul class="chips">
${filter('All', '/problems', status === undefined)}${problemStatuses.map((one) => filter(String(one), `/problems?status=${one}`, one === status))}</ul></nav>
<p class="meta">${codes.length} of ${problemCodes.length} codes</p>
<div class="scroll"><table class="stack codes"><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th><th scope="col">Retry</th></tr></thead><tbody>
${codes.map((code) => html`<tr><td class="num">${problems[code].status}</td><td><a href="/problems/${code}"><code>${withBreaks(code)}</code></a></td><td>${withCode(problems[code].meaning)}</td><td>${problems[code].retryable ? 'Yes' : 'No'}</td></tr>\n`)}</tbody></table></div>`,
  }
}
