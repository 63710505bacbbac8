import {
  type Answer,
  type Auth,
  type Endpoint,
  generalProblems,
  isConsoleEndpoint,
  type ProblemCode,
  problems,
  rateLimits,
  rolePermissions,
  stepUp,
  stepUpOfSessions,
} from '@countersign/core/contract'
import type { ExampleNames } from '../documents/examples.ts'
import { type Html, html } from '../pages/html.ts'
import { type ListedEndpoint, toEndpointUrl } from './areas.ts'
import { type CodeTab, codeTabs } from './code-tabs.ts'
import { withCode } from './code-words.ts'
import { createExampleTabs } from './example-tabs.ts'
import {
  listAlternatives,
  listMembers,
  type Member,
  type Resolve,
  type Schema,
  toMember,
} from './schema-members.ts'
import { toMarkdown } from './to-markdown.ts'

/** The OpenAPI document, as far as pages are made from it. */
export interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: 'path' | 'query' | 'header'
    readonly required: boolean
    readonly description?: string
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
}

/** The page of an endpoint: its content, and the headings on it. */
export interface EndpointPage {
  readonly title: string
  readonly description: string
  readonly body: Html
  /** The same content, for readers of plain text. */
  readonly markdown: string
  readonly headings: readonly { readonly level: 2; readonly id: string; readonly text: string }[]
}

/** Describes an endpoint: meaning, callers, parameters, responses and errors, beside examples. */
export function createEndpointPage(
  endpoint: ListedEndpoint,
  document: OpenapiDocument,
  names: ExampleNames,
): EndpointPage {
  const { method, path, summary } = endpoint
  const operation = document.paths[path]?.[method.toLowerCase()]
  if (operation === undefined) throw new Error(`The OpenAPI document lacks ${method} ${path}.`)
  const resolve = createResolve(document)
  const sections = [
    ...parameterSections(operation, resolve),
    ...bodySections(operation, resolve),
    ...answerSections(endpoint, operation, resolve),
    errorSection(endpoint),
  ]
  const description = ('description' in endpoint && endpoint.description) || ''
  const [lead = '', ...rest] = splitSentences(description)
  const { request, response } = createExampleTabs(endpoint, names)
  const head = html`<h1>${summary}</h1>
<p class="endpoint-path"><span class="verb verb-${method.toLowerCase()}">${method}</span> <code>${withBreaks(path)}</code></p>
${lead === '' ? '' : html`<p class="lead">${withCode(lead)}</p>`}
${rest.length === 0 ? '' : html`<p>${withCode(rest.join(' '))}</p>`}
${facts(endpoint)}`
  const text = sections.map(
    ({ id, title, content }) =>
      html`<section aria-labelledby="${id}"><h2 id="${id}"><a class="anchor" href="#${id}">${title}</a></h2>\n${content}</section>\n`,
  )
  const fence = ({ name, language, text: code }: CodeTab) =>
    `### ${name}\n\n\`\`\`${language}\n${code}\n\`\`\`\n`
  return {
    title: summary,
    description: `${method} ${path}: ${summary}. ${lead}`.trim(),
    headings: sections.map(({ id, title }) => ({ level: 2, id, text: title })),
    body: html`<div class="endpoint">
<div class="endpoint-head">
${head}
</div>
<aside class="aside" aria-label="Examples">
${codeTabs('Request', request)}
${codeTabs('Response', response)}
</aside>
<div class="endpoint-text">
${text}<p class="page-end"><a href="${toEndpointUrl(endpoint.id)}.md">View as Markdown</a></p></div>
</div>`,
    markdown: `${toMarkdown(html`${head}${text}`, names.baseUrl)}
## Request example

${request.map(fence).join('\n')}
## Response example

${response.map(fence).join('\n')}`,
  }
}

interface Section {
  readonly id: string
  readonly title: string
  readonly content: Html
}

const callers: Readonly<Record<Auth, string>> = {
  none: 'Anyone. No authentication.',
  page: 'The pages of this service, in the browser that the flow is bound to.',
  credential: 'A credential in X-Service-Credential, or a bearer token in Authorization.',
  credential_in_body: 'The credential in the body.',
  api_key: 'An API key of the site, in X-API-Key.',
  oauth_client: 'An API key in X-API-Key, or as the client_secret of an OAuth client.',
  api_key_optional: 'Anyone. With an API key in X-API-Key the response has more details.',
  api_key_or_credential:
    'An API key of the site in X-API-Key, or the credential itself in X-Service-Credential.',
  api_key_and_credential: 'An API key of the proxy in X-API-Key, and the credential or token of its caller.',
  operator_key: 'An operator key, in X-API-Key.',
  sender_token: 'A registered sender, with a JWT in Authorization.',
  console: 'The pages of the console.',
  session: 'A person who is signed in to the console, with the session cookie.',
}

function facts(endpoint: ListedEndpoint): Html {
  const { id, auth, path, rateLimit, idempotency, bodyTypes, bodyBytesMax } = endpoint as Endpoint &
    ListedEndpoint
  const { permissions = [] } = endpoint as Endpoint
  const roles = Object.entries(rolePermissions)
    .filter(([, granted]) => permissions.some((permission) => granted.includes(permission)))
    .map(([role]) => role)
  const rows: [string, Html][] = [['Who may call it', withCode(callers[auth])]]
  if (permissions.length > 0) {
    const names = permissions.map((name, i) => html`${i === 0 ? '' : ' or '}<code>${name}</code>`)
    rows.push(['Permission', html`${names}`])
  }
  if (isConsoleEndpoint(id)) {
    const who = permissions.length > 0 ? `Roles: ${roles.join(', ')}.` : 'Role: operator.'
    const recently = stepUp[id] ? ' The person must have signed in within 5 minutes.' : ''
    rows.push(['In the console', html`<code>/console${path}</code>. ${who}${recently}`])
  } else if (stepUpOfSessions.has(id)) {
    rows.push(['Step-up', html`The person must have signed in within 5 minutes.`])
  }
  if (idempotency === 'replayed')
    rows.push([
      'Retries',
      withCode('A request with the same Idempotency-Key gets the first response, for a day.'),
    ])
  if (idempotency === 'secret')
    rows.push([
      'Retries',
      withCode('A repeated Idempotency-Key is rejected: the response has a secret that is shown only once.'),
    ])
  if (rateLimit !== 'none') rows.push(['Rate limit', html`${describeLimit(endpoint)}`])
  if ((bodyTypes as readonly string[]).length > 0)
    rows.push([
      'Body',
      html`${bodyTypes.map((type, i) => html`${i === 0 ? '' : ' or '}<code>${type}</code>`)}, at most ${bodyBytesMax / 1024} KiB`,
    ])
  return html`<dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>\n`)}</dl>`
}

function describeLimit({ rateLimit, auth }: ListedEndpoint): string {
  const describe = ({
    requests,
    window_seconds: seconds,
    per,
  }: {
    requests: number
    window_seconds: number
    per: string
  }) =>
    `${requests.toLocaleString('en-US')} requests in ${seconds} seconds for each ${per.replaceAll('_', ' ').replace('api', 'API')}`
  if (rateLimit === 'sign_in_start') return `${describe(rateLimits.sign_in_start)}, by default.`
  if (rateLimit === 'failed_presentation') {
    const { requests, window_seconds } = rateLimits.failed_presentation
    return `${requests.toLocaleString('en-US')} failures in ${window_seconds} seconds for each address, by default.`
  }
  return `${describe(['none', 'console', 'page', 'session'].includes(auth) ? rateLimits.keyless : rateLimits.key)}, by default.`
}

function parameterSections({ parameters = [] }: Operation, resolve: Resolve): readonly Section[] {
  const places = [
    ['path', 'Path parameters'],
    ['query', 'Query parameters'],
    ['header', 'Headers'],
  ] as const
  return places.flatMap(([place, title]) => {
    const members = parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, required, description, schema }) =>
        toMember(
          place === 'header' ? toHeaderName(name) : name,
          description === undefined ? schema : { description, ...schema },
          required,
          resolve,
        ),
      )
    return members.length === 0
      ? []
      : [{ id: `${place}-parameters`, title, content: memberList(members, 'request') }]
  })
}

const toHeaderName = (name: string): string =>
  name.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase())

function bodySections({ requestBody }: Operation, resolve: Resolve): readonly Section[] {
  const [first] = Object.entries(requestBody?.content ?? {})
  if (first === undefined) return []
  const [type, { schema }] = first
  const members = listMembers(schema, resolve)
  const ways = listAlternatives(schema, resolve)
  const choice =
    ways.length < 2
      ? html``
      : html`<p class="choice">Send one of: ${ways.map((names, i) => html`${i === 0 ? '' : '; '}${names.map((name, k) => html`${k === 0 ? '' : ' and '}<code>${name}</code>`)}`)}.</p>`
  const content =
    members.length === 0
      ? html`<p>${type === 'application/secevent+jwt' ? 'The security event token (RFC 8417), as text.' : 'Text.'}</p>`
      : html`${choice}${memberList(members, 'request')}`
  return [{ id: 'body', title: 'Body', content }]
}

function answerSections(
  endpoint: ListedEndpoint,
  operation: Operation,
  resolve: Resolve,
): readonly Section[] {
  return Object.entries(endpoint.answers as Readonly<Record<string, Answer>>).map(([status, answer], i) => {
    const { description, headers = {}, mediaType, body, otherMediaTypes = [] } = answer
    const schema = Object.values(operation.responses[status]?.content ?? {})[0]?.schema
    const members = schema === undefined || body === undefined ? [] : listMembers(schema, resolve)
    const type = mediaType ?? (body === undefined ? undefined : 'application/json')
    const lines = mediaType === 'application/x-ndjson' || mediaType === 'text/event-stream'
    const id = i === 0 ? 'response' : `response-${status}`
    const types = [type, ...otherMediaTypes].flatMap((one) => one ?? [])
    return {
      id,
      title: i === 0 ? 'Response' : `Response ${status}`,
      content: html`<p><span class="status ok">${status}</span> ${withCode(description)}${types.length === 0 ? html` The response has no body.` : html` <span class="quiet">${types.join(', ')}</span>`}</p>
${Object.keys(headers).length === 0 ? '' : html`<h3>Response headers</h3><dl class="params">${Object.entries(headers).map(([name, text]) => html`<div><dt><code>${name}</code></dt><dd>${withCode(text)}</dd></div>`)}</dl>`}
${members.length === 0 ? '' : html`${lines ? html`<h3>Members of ${mediaType === 'text/event-stream' ? 'the data of an event' : 'a line'}</h3>` : ''}${memberList(members, 'response')}`}`,
    }
  })
}

function errorSection({ problems: own }: ListedEndpoint): Section {
  const general = (generalProblems as readonly ProblemCode[]).filter(
    (code) => !(own as readonly string[]).includes(code),
  )
  return {
    id: 'errors',
    title: 'Errors',
    content: html`${own.length === 0 ? '' : problemList(own as readonly ProblemCode[])}
<details class="fold"><summary>Errors of every endpoint (${general.length})</summary>
${problemList(general)}</details>`,
  }
}

const problemList = (codes: readonly ProblemCode[]): Html =>
  html`<dl class="params errors">
${codes.map((code) => html`<div><dt><span class="status">${problems[code].status}</span> <a href="/problems/${code}"><code>${withBreaks(code)}</code></a></dt><dd>${withCode(problems[code].remedy)}</dd></div>\n`)}</dl>`

/** In requests, members are marked that must be sent; in responses, those that may be missing. */
type Side = 'request' | 'response'

function memberList(members: readonly Member[], side: Side): Html {
  return html`<dl class="params">
${members.map((member) => memberItem(member, side))}</dl>`
}

const VALUES_MAX = 12

function memberItem(member: Member, side: Side): Html {
  const { name, type, isRequired, limits, values, description, example, members } = member
  const mark =
    side === 'request'
      ? isRequired
        ? html` <span class="required">Required</span>`
        : ''
      : isRequired
        ? ''
        : html` <span class="type">optional</span>`
  const shown = values.slice(0, VALUES_MAX)
  return html`<div><dt><code>${withBreaks(name)}</code> <span class="type">${[type, ...limits].join(', ')}</span>${mark}</dt>
<dd>${description === '' ? '' : withCode(description)}${shown.length === 0 ? '' : html` ${shown.length === 1 ? 'Always' : 'One of'} ${shown.map((value, i) => html`${i === 0 ? '' : ', '}<code>${value}</code>`)}${values.length > VALUES_MAX ? ` and ${values.length - VALUES_MAX} more` : ''}.`}${example === undefined || shown.length > 0 ? '' : html` <span class="example">Example: <code>${withBreaks(example)}</code></span>`}
${members.length === 0 ? '' : html`<details class="members"><summary>Members of <code>${name}</code></summary>${memberList(members, side)}</details>`}</dd></div>
`
}

function createResolve({ components }: OpenapiDocument): Resolve {
  return (reference) => {
    const schema = components.schemas[reference.split('/').at(-1) ?? '']
    if (schema === undefined) throw new Error(`The OpenAPI document lacks ${reference}.`)
    return schema
  }
}

/** Sentences end with a full stop before a capital letter. */
function splitSentences(text: string): readonly string[] {
  return text === '' ? [] : text.split(/(?<=[.!?])\s+(?=[A-Z“])/)
}

/** Long names may break after a separator. */
export function withBreaks(text: string): readonly Html[] {
  return text.split(/(?<=[/_:.])/).map((part, i) => (i === 0 ? html`${part}` : html`<wbr>${part}`))
}
