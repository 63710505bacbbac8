import { type Auth, endpointList, tags } from '@countersign/core/contract'
import * as z from 'zod'
import type { RouteAnswer } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { findDocument } from '../documents/document-page.ts'
import { documents } from '../documents/documents.ts'
import { exampleNames } from '../documents/examples.ts'
import { renderDocsPage } from '../documents/frame.ts'
import { docsHome } from '../documents/home.ts'
import { API_URL } from '../documents/navigation.ts'
import { SEARCH_URL, searchPage, searchResults } from '../documents/search-page.ts'
import { findStored } from '../http/stored-answer.ts'
import { createOpenapi } from '../openapi.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { type Html, html } from '../pages/html.ts'
import { Problem } from '../problem.ts'
import type { Route, RouteRequest } from '../route.ts'

type Listed = (typeof endpointList)[number]

const needs: Record<Auth, string> = {
  none: 'no authentication',
  page: 'a request from the page of this service',
  credential: 'a credential in X-Service-Credential, or a bearer token',
  credential_in_body: 'the credential in the body',
  api_key: 'X-API-Key',
  oauth_client: 'X-API-Key, or the client_id and client_secret of an OAuth client',
  api_key_optional: 'no authentication; X-API-Key adds details',
  api_key_or_credential: 'X-API-Key, or the credential itself',
  api_key_and_credential: 'X-API-Key of the proxy, and the credential or token of its caller',
  operator_key: 'X-API-Key of an operator',
  sender_token: 'a JWT of a registered sender in Authorization',
  console: 'a request from a page of the console',
  session: 'the session of a person in the console',
}

/**
 * GET /openapi.json: with line breaks for browsers. Built once: it is 394 KB and takes about 170 ms
 * to build.
 */
export const openapi: Route<'openapi'> = async ({ lines }, { config: { baseUrl } }) => {
  const indent = acceptsPage(lines) ? 2 : 0
  return findStored(`/openapi.json ${baseUrl} ${indent}`, () => ({
    status: 200,
    contentType: 'application/json',
    headers: { vary: 'accept' },
    body: JSON.stringify(createOpenapi(endpointList, baseUrl), undefined, indent),
  })).answer(lines)
}

/** GET /docs: where to start, for each kind of reader. */
export const docs: Route<'docs'> = async ({ lines }) => findStored('/docs', docsHome).answer(lines)

/** GET /docs/api: every endpoint. */
const apiPage = (baseUrl: string): RouteAnswer =>
  renderDocsPage({
    title: 'API',
    description: 'Every endpoint of this service: method, path, meaning and what it needs.',
    path: API_URL,
    body: html`<h1>API</h1>
<p class="lead">Every endpoint of <code>${baseUrl}</code>. Programs read
<a href="/openapi.json">openapi.json</a> and <a href="/.well-known/countersign">.well-known/countersign</a>.</p>
${tags.map((tag) => html`<h2 id="${tag}">${tag}</h2><ul class="endpoints">${endpointList.filter((endpoint) => endpoint.tag === tag).map(listed)}</ul>`)}`,
    contents: tags.map((tag) => ({ level: 2, id: tag, text: tag })),
  })

/** Addresses below /docs may have any query, as links from elsewhere often do. */
export const documentsRequest = { query: z.looseObject({}) }

/**
 * GET /docs/…: the files of the repository that are written for people, and the search. An address
 * with a slash at its end leads to the one without. Throws `not_found` for everything else.
 */
export async function documentPage(
  { holderRequest: { path, query }, lines }: Pick<RouteRequest, 'holderRequest' | 'lines'>,
  { config }: Pick<Deps, 'config'>,
): Promise<RouteAnswer> {
  const short = path.replace(/\/+$/, '')
  if (path === SEARCH_URL) return search(new URLSearchParams(query).get('q') ?? '', lines)
  const names = exampleNames(config)
  const create = (): RouteAnswer | undefined =>
    short === API_URL ? apiPage(config.baseUrl) : findDocument(documents(), short, names)
  if (short !== path && (short === '/docs' || create() !== undefined))
    return { status: 308, headers: { location: short } }
  return findStored(`${short} ${names.baseUrl} ${names.siteId}`, () => {
    const answer = create()
    if (answer === undefined) throw new Problem('not_found')
    return answer
  }).answer(lines)
}

function search(query: string, lines: RouteRequest['lines']): RouteAnswer {
  const isForScript = lines('accept')?.some((line) => line.includes('application/json')) ?? false
  return isForScript ? searchResults(query) : searchPage(query)
}

function listed({ method, path, summary, description = '', auth, permissions = [] }: Listed): Html {
  const permission = permissions.length > 0 ? ` with ${permissions.join(' or ')}` : ''
  return html`<li><span class="method">${method}</span> <code>${path}</code><br>${summary}. ${description}
<span class="quiet">Needs ${needs[auth]}${permission}.</span></li>`
}
