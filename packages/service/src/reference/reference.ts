import { type EndpointId, endpointList, type ProblemCode, problems } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import { renderDocsPage } from '../documents/frame.ts'
import type { Link } from '../documents/navigation.ts'
import { createOpenapi } from '../openapi.ts'
import { html } from '../pages/html.ts'
import { findAdvice } from './advice-for-people.ts'
import { areas, REFERENCE_URL, toEndpointUrl } from './areas.ts'
import { createEndpointPage, type EndpointPage, type OpenapiDocument } from './endpoint-page.ts'
import { createProblemList, createProblemPage, problemStatuses } from './problem-pages.ts'
import { createReferenceIndex } from './reference-index.ts'

/** The API reference and the problem pages of one service. Each page is rendered once. */
export interface Reference {
  /** The page at an address below /docs/api, if there is one. */
  find(url: string): RouteAnswer | undefined
  problem(code: ProblemCode): RouteAnswer
  /** All problem codes, or those with the status that a query names. */
  problems(query: string): RouteAnswer
  /** What the search looks through. */
  readonly searchable: readonly { readonly url: string; readonly title: string; readonly text: string }[]
}

const kept = new Map<string, Reference>()

/** The reference of the service at this address. */
export function reference(baseUrl: string): Reference {
  const known = kept.get(baseUrl)
  if (known !== undefined) return known
  const created = createReference(baseUrl)
  kept.set(baseUrl, created)
  return created
}

function createReference(baseUrl: string): Reference {
  const rendered = new Map<string, RouteAnswer>()
  let document: OpenapiDocument | undefined
  const once = (url: string, render: () => RouteAnswer): RouteAnswer => {
    const known = rendered.get(url)
    if (known !== undefined) return known
    const answer = render()
    rendered.set(url, answer)
    return answer
  }
  const endpointPage = (id: EndpointId): EndpointPage => {
    document ??= createOpenapi(endpointList, baseUrl) as unknown as OpenapiDocument
    const endpoint = endpointList.find((one) => one.id === id)
    if (endpoint === undefined) throw new Error(`The contract has no endpoint ${id}.`)
    return createEndpointPage(endpoint, document, baseUrl)
  }
  const byUrl = new Map(endpointList.map(({ id }) => [toEndpointUrl(id), id]))
  return {
    find(url) {
      if (url === REFERENCE_URL)
        return once(url, () => {
          const { headings, ...page } = createReferenceIndex(baseUrl)
          return renderDocsPage({
            ...page,
            baseUrl,
            path: url,
            contents: headings,
            crumbs: [{ title: 'Docs', url: '/docs' }],
          })
        })
      const id = byUrl.get(url)
      if (id === undefined) return undefined
      return once(url, () => {
        const { headings: _listed, ...page } = endpointPage(id)
        const area = areas.find(({ endpoints }) => endpoints.some((one) => one.id === id))
        return renderDocsPage({
          ...page,
          baseUrl,
          path: url,
          layout: 'wide',
          crumbs: [
            { title: 'API', url: REFERENCE_URL },
            ...(area === undefined ? [] : [{ title: area.title, url: `${REFERENCE_URL}#${area.id}` }]),
          ],
          ...findEndpointNeighbors(id),
        })
      })
    },
    problem: (code) =>
      once(`/problems/${code}`, () =>
        renderDocsPage({
          baseUrl,
          ...createProblemPage(code, baseUrl),
          path: `/problems/${code}`,
          crumbs: [
            { title: 'API', url: REFERENCE_URL },
            { title: 'Problem codes', url: '/problems' },
          ],
        }),
      ),
    problems(query) {
      const asked = Number(new URLSearchParams(query).get('status'))
      const status = problemStatuses.find((one) => one === asked)
      return once(`/problems?status=${status ?? ''}`, () =>
        renderDocsPage({
          baseUrl,
          ...createProblemList(status),
          path: '/problems',
          crumbs: [{ title: 'API', url: REFERENCE_URL }],
        }),
      )
    },
    searchable: [
      ...endpointList.map(({ id, method, path, summary, ...rest }) => ({
        url: toEndpointUrl(id),
        title: summary,
        text: `${method} ${path} ${id} ${'description' in rest ? rest.description : ''}`,
      })),
      ...Object.entries(problems).map(([code, { title, meaning, remedy }]) => ({
        url: `/problems/${code}`,
        title,
        text: `${code} ${meaning} ${remedy}`,
      })),
    ],
  }
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
