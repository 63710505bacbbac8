import { type EndpointId, endpointList, type ProblemCode, problems } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import { markdownAnswer } from '../documents/document-page.ts'
import type { ExampleNames } from '../documents/examples.ts'
import { renderDocsPage } from '../documents/frame.ts'
import type { Link } from '../documents/navigation.ts'
import { createOpenapi } from '../openapi.ts'
import { html } from '../pages/html.ts'
import { findAdvice } from './advice-for-people.ts'
import { areas, REFERENCE_URL, toEndpointUrl } from './areas.ts'
import { createEndpointPage, type OpenapiDocument } from './endpoint-page.ts'
import { createProblemList, createProblemPage, problemStatuses } from './problem-pages.ts'
import { createReferenceIndex } from './reference-index.ts'

const byUrl = new Map(endpointList.map((endpoint) => [toEndpointUrl(endpoint.id), endpoint]))

/**
 * The page of the API reference at an address, if there is one. It is rendered when the returned
 * function is called.
 */
export function findReferencePage(url: string, names: ExampleNames): (() => RouteAnswer) | undefined {
  if (url === REFERENCE_URL) return () => renderIndex(names)
  const endpoint = byUrl.get(url.replace(/\.md$/, ''))
  return endpoint && (() => renderEndpoint(endpoint, url, names))
}

function renderIndex({ baseUrl }: ExampleNames): RouteAnswer {
  const { headings, ...page } = createReferenceIndex(baseUrl)
  return renderDocsPage({
    ...page,
    baseUrl,
    path: REFERENCE_URL,
    contents: headings,
    crumbs: [{ title: 'Docs', url: '/docs' }],
  })
}

function renderEndpoint(
  endpoint: (typeof endpointList)[number],
  url: string,
  names: ExampleNames,
): RouteAnswer {
  const { baseUrl } = names
  const { markdown, ...page } = createEndpointPage(endpoint, loadDocument(baseUrl), names)
  if (url.endsWith('.md')) return markdownAnswer(markdown)
  const area = areas.find(({ endpoints }) => endpoints.includes(endpoint))
  return renderDocsPage({
    ...page,
    markdownUrl: `${url}.md`,
    baseUrl,
    path: url,
    layout: 'wide',
    crumbs: [
      { title: 'API', url: REFERENCE_URL },
      ...(area === undefined ? [] : [{ title: area.title, url: `${REFERENCE_URL}#${area.id}` }]),
    ],
    ...findEndpointNeighbors(endpoint.id),
  })
}

const inReference = [{ title: 'API', url: REFERENCE_URL }]

/** The page of a problem code. */
export function renderProblem(code: ProblemCode, baseUrl: string): RouteAnswer {
  return renderDocsPage({
    ...createProblemPage(code, baseUrl),
    baseUrl,
    path: `/problems/${code}`,
    crumbs: [...inReference, { title: 'Problem codes', url: '/problems' }],
  })
}

/** The status that a query asks for. Undefined if no problem has it. */
export function findProblemStatus(query: string): number | undefined {
  const asked = Number(new URLSearchParams(query).get('status'))
  return problemStatuses.find((status) => status === asked)
}

/** All problem codes, or those with one status. */
export function renderProblems(status: number | undefined, baseUrl: string): RouteAnswer {
  return renderDocsPage({ ...createProblemList(status), baseUrl, path: '/problems', crumbs: inReference })
}

let loaded: { readonly baseUrl: string; readonly document: OpenapiDocument } | undefined

/** Creating it takes about 170 ms, and every page needs it. */
function loadDocument(baseUrl: string): OpenapiDocument {
  if (loaded?.baseUrl !== baseUrl)
    loaded = { baseUrl, document: createOpenapi(endpointList, baseUrl) as unknown as OpenapiDocument }
  return loaded.document
}

/** The endpoints before and after one. */
function findEndpointNeighbors(id: EndpointId): { readonly previous?: Link; readonly next?: Link } {
  const all = areas.flatMap(({ endpoints }) => endpoints)
  const at = all.findIndex((one) => one.id === id)
  const [previous, next] = [all[at - 1], all[at + 1]].map(
    (one) => one && { title: one.summary, url: toEndpointUrl(one.id) },
  )
  return { ...(previous && { previous }), ...(next && { next }) }
}

const rejections = new Map<ProblemCode, RouteAnswer>()

/** A rejected request for a page that readers open: what happened, and ways onward. */
export function readersProblemPage(code: ProblemCode): RouteAnswer {
  const known = rejections.get(code)
  if (known !== undefined) return known
  const { status, title } = problems[code]
  const { text } = findAdvice(code)
  const page = renderDocsPage({
    title,
    description: text,
    path: '',
    layout: 'front',
    status,
    body: html`<div class="lost">
<p class="endpoint-path"><span class="status no">${status}</span> <a href="/problems/${code}"><code>${code}</code></a></p>
<h1>${code === 'not_found' ? 'There is nothing at this address' : title}</h1>
<p class="lead">${text}</p>
<p class="actions"><a class="button primary" href="/">Start page</a> <a class="button" href="/docs">Docs</a> <a class="button" href="/docs/search">Search</a> <a class="button" href="/wallet">Wallet</a></p>
</div>`,
  })
  rejections.set(code, page)
  return page
}
