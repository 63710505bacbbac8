import { type Html, html } from '../pages/html.ts'
import { areas, toEndpointUrl } from './areas.ts'
import { withBreaks } from './endpoint-page.ts'

/** The list of all endpoints, grouped by area. */
export function createReferenceIndex(baseUrl: string): {
  readonly title: string
  readonly description: string
  readonly body: Html
  readonly headings: readonly { readonly level: 2; readonly id: string; readonly text: string }[]
} {
  const count = areas.reduce((sum, { endpoints }) => sum + endpoints.length, 0)
  return {
    title: 'API reference',
    description: `All ${count} endpoints of Countersign: parameters, bodies, responses, errors and examples.`,
    headings: areas.map(({ id, title }) => ({ level: 2, id, text: title })),
    body: html`<h1>API reference</h1>
<p class="lead">Every endpoint of <code>${baseUrl}</code>, with parameters, responses, errors and examples that you can paste.</p>
<p>Bodies are JSON, times are RFC 3339 in UTC, and durations are whole seconds. Errors are <a href="/problems">problem details</a>.
Most requests need an API key in <code>X-API-Key</code>: create one with <a href="${toEndpointUrl('create_key')}">Create an API key</a>.</p>
<p class="actions"><a class="button" href="/openapi.json" download>Download openapi.json</a> <a class="button" href="/openapi.yaml" download>openapi.yaml</a> <a class="button" href="/openapi.json">View OpenAPI</a></p>
${areas.map(
  ({ id, title, text, endpoints }) => html`<h2 id="${id}"><a class="anchor" href="#${id}">${title}</a></h2>
<p class="quiet">${text}</p>
<ul class="endpoints">
${endpoints.map((endpoint) => html`<li><a class="endpoint-link" href="${toEndpointUrl(endpoint.id)}">${endpoint.summary}</a> <span class="endpoint-path"><span class="verb verb-${endpoint.method.toLowerCase()}">${endpoint.method}</span> <code>${withBreaks(endpoint.path)}</code></span></li>\n`)}</ul>\n`,
)}`,
  }
}
