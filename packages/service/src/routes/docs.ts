import { type Auth, endpointList, problemCodes, problems, tags } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import { findDocument, navigation } from '../documents/document-page.ts'
import { documents } from '../documents/documents.ts'
import { createOpenapi } from '../openapi.ts'
import { type Html, html } from '../pages/html.ts'
import { page } from '../pages/page.ts'
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

/** GET /docs */
export const docs: Route<'docs'> = async (_request, { config }) =>
  page(
    'The interface',
    html`<h1>Countersign</h1>
<p>Credential authentication and revocation. This is every endpoint of <code>${config.baseUrl}</code>; programs read
<a href="/openapi.json">openapi.json</a> and <a href="/.well-known/countersign">.well-known/countersign</a>.</p>
${tags.map((tag) => html`<h2 class="tag">${tag}</h2><ul class="endpoints">${endpointList.filter((endpoint) => endpoint.tag === tag).map(listed)}</ul>`)}
<h2>Codes</h2>
<ul class="endpoints">${problemCodes.map((code) => html`<li><span class="method">${problems[code].status}</span> <a href="/problems/${code}"><code>${code}</code></a> ${problems[code].title}</li>`)}</ul>`,
    { navigation: navigation(documents(), '/docs') },
  )

/**
 * GET /docs/…: the files of the repository that are written for people. An address with a slash at
 * its end leads to the one without. Throws `not_found` for everything else.
 */
export async function documentPage({
  holderRequest: { path },
}: Pick<RouteRequest, 'holderRequest'>): Promise<RouteAnswer> {
  const short = path.replace(/\/+$/, '')
  const answer = findDocument(documents(), short)
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
