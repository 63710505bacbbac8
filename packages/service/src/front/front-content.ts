import { ICONS } from '../documents/icons.ts'
import { type Html, html } from '../pages/html.ts'
import { commandBlock } from './command-block.ts'
import { measurements } from './measurements.ts'
import { receiptPicture } from './receipt-picture.ts'

export interface FrontFacts {
  /** The address in the commands. */
  readonly baseUrl: string
  readonly hasConsole: boolean
}

/** The content of the front page. It says nothing about the deployment that shows it. */
export function createFrontContent({ baseUrl, hasConsole }: FrontFacts): Html {
  return html`<section class="hero">
<div>
<h1>Revoke access everywhere, in milliseconds, and know that it happened.</h1>
<p class="lead">Countersign checks signed credentials inside your own services. When you revoke access, every connected guard applies the change and confirms it. A guard that loses its connection stops accepting requests after 30 seconds.</p>
<p class="actions"><a class="button primary" href="#try">Try it in three commands</a> <a class="button" href="/docs">Read the docs</a></p>
<p class="meta">Apache-2.0. Not released or audited yet. Using a site that signs you in with Countersign? <a href="/wallet">Open your wallet</a>${hasConsole ? html` · <a href="/console">Console</a>` : ''}</p>
</div>
${receiptPicture}
</section>
<section class="band" aria-labelledby="how">
<h2 id="how">How it works</h2>
<p class="quiet">Requests never wait for Countersign. Revocations never wait for a token to expire.</p>
<figure class="flow">${FLOW}
<figcaption>An entry reached 1,000 guards on one machine in 8.8 ms (median) and 29.1 ms (99th percentile); a network adds its own latency. 30 seconds is the default of <code>maxStalenessSeconds</code>.</figcaption></figure>
</section>
<section class="band" aria-labelledby="try">
<h2 id="try">Try it in three commands</h2>
<p class="quiet">You need npm, Node and curl, and a clone of the repository. The <a href="/docs/guides/quickstart">quick start</a> goes on from there.</p>
<ol class="steps">
${steps(baseUrl).map(({ title, text, command, answer }) => html`<li><div><h3>${title}</h3><p>${text}</p></div>${commandBlock(command, answer)}</li>\n`)}</ol>
</section>
<section class="band" aria-labelledby="start">
<h2 id="start">Where to start</h2>
<ul class="cards roles">
${roles.map(({ icon, title, url, text, go }) => html`<li><div class="card">${icon}<h3><a href="${url}">${title}</a></h3><p>${text}</p><p class="go" aria-hidden="true">${go} →</p></div></li>\n`)}</ul>
</section>
<section class="band" aria-labelledby="measured">
<h2 id="measured">What we measured</h2>
<ul class="strip">
${measurements.map(({ name, value, unit, conditions, section }) => html`<li><a href="/docs/bench#${section}"><b>${value}<small>${unit}</small></b><strong>${name}</strong><span>${conditions}</span></a></li>\n`)}</ul>
<p class="meta">Two x64 cores of a shared host, Node 24.21, no network between the processes. Some targets are not met yet. <a href="/docs/bench">All results, and how to repeat them</a></p>
</section>
<section class="band" aria-labelledby="when-not">
<h2 id="when-not">When not to use it</h2>
<p class="measure">If it is soon enough that access ends within some minutes, use short-lived tokens: they are simpler. <a href="/docs/comparison">How Countersign compares</a> names the alternatives, with sources.</p>
</section>`
}

const FLOW_TEXT =
  'Access: your back office issues a credential, a user or agent presents it, and the guard inside your API accepts it without a network call. Revocation: Countersign commits the entry, every connected guard applies it within milliseconds and confirms, and a guard that is cut off rejects every request after 30 seconds.'

const FLOW = html`<picture><source media="(max-width: 40rem)" srcset="/docs/pictures/flow-narrow.svg"><img src="/docs/pictures/flow.svg" width="720" height="512" alt="${FLOW_TEXT}"></picture>`

interface Step {
  readonly title: string
  readonly text: string
  readonly command: string
  readonly answer?: string
}

const steps = (baseUrl: string): readonly Step[] => [
  {
    title: 'Start the service',
    text: 'It creates a demo site, an issuer and a credential in ./data.',
    command: 'npm ci && npm start',
  },
  {
    title: 'Send a request',
    text: 'The credential is valid, so the service accepts it.',
    command: `curl -X POST ${baseUrl}/api/protected/action \\\n  -H @data/credential.header`,
    answer: '✓ 200  { "allowed": true, … }',
  },
  {
    title: 'Revoke the user',
    text: 'Then send the request of step 2 again.',
    command: 'npm run -s countersign -- revoke-user demo-user --yes --wait 5',
    answer: '✕ 401  { "code": "credential_revoked", … }   (step 2, sent again)',
  },
]

const roles: readonly {
  readonly icon: Html
  readonly title: string
  readonly url: string
  readonly text: string
  readonly go: string
}[] = [
  {
    icon: ICONS.shield,
    title: 'Protect an API',
    url: '/docs/guides/protect-a-route',
    text: 'Add a guard to Express, Fastify, Hono or an MCP server, or put one behind your proxy.',
    go: 'Protect a route',
  },
  {
    icon: ICONS.person,
    title: 'Sign people in',
    url: '/docs/guides/sign-in',
    text: 'People use a credential that stays in their browser. Your site gets an ID made only for it.',
    go: 'Add sign-in',
  },
  {
    icon: ICONS.agent,
    title: 'Run agents',
    url: '/docs/guides/agents',
    text: 'Give each agent its own credential. Delegate fewer permissions, for a shorter time.',
    go: 'Set up an agent',
  },
  {
    icon: ICONS.server,
    title: 'Operate it',
    url: '/docs/guides/deployment',
    text: 'SQLite on one machine or PostgreSQL on several. Monitoring, backup and key rotation.',
    go: 'Deploy it',
  },
]
