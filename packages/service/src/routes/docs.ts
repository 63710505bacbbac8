import { type Auth, endpointList, tags } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { findDocument } from '../documents/document-page.ts'
import { documents } from '../documents/documents.ts'
import { renderDocsPage } from '../documents/frame.ts'
import { docsHome } from '../documents/home.ts'
import { API_URL } from '../documents/navigation.ts'
import { SEARCH_URL, searchPage } from '../documents/search-page.ts'
import { createOpenapi } from '../openapi.ts'
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

/** Built once: it is 394 KB and takes about 170 ms to build. */
const written = new Map<string, RouteAnswer>()

/** GET /openapi.json */
export const openapi: Route<'openapi'> = async (_request, { config }) => {
  const known = written.get(config.baseUrl)
  if (known !== undefined) return known
  const body = Buffer.from(JSON.stringify(createOpenapi(endpointList, config.baseUrl)))
  const answer = { status: 200, body, contentType: 'application/json' }
  written.set(config.baseUrl, answer)
  return answer
}

/** GET /docs: where to start, for each kind of reader. */
export const docs: Route<'docs'> = async () => docsHome()

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

/**
 * GET /docs/…: the files of the repository that are written for people. An address with a slash at
 * its end leads to the one without. Throws `not_found` for everything else.
 */
export async function documentPage(
  { holderRequest: { path } }: Pick<RouteRequest, 'holderRequest'>,
  { config }: Pick<Deps, 'config'>,
): Promise<RouteAnswer> {
  const short = path.replace(/\/+$/, '')
  const answer =
    short === API_URL
      ? apiPage(config.baseUrl)
      : short === SEARCH_URL
        ? searchPage()
        : findDocument(documents(), short)
  if (short !== path && (answer !== undefined || short === '/docs'))
    return { status: 308, headers: { location: short } }
  if (answer === undefined) throw new Problem('not_found')
  return answer
}

function listed({ method, path, summary, description = '', auth, permissions = [] }: Listed): Html {
  const permission = permissions.length > 0 ? ` with ${permissions.join(' or ')}` : ''
  return html`<li><span class="method">${method}</span> <code>${path}</code><br>${summary}. ${description}
<span class="quiet">Needs ${needs[auth]}${permission}.</span></li>`
}
