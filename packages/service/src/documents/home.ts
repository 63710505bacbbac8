import type { RouteAnswer } from '../answer.ts'
import { type Html, html } from '../pages/html.ts'
import { renderDocsPage } from './frame.ts'
import { ICONS } from './icons.ts'

interface Card {
  readonly icon: Html
  readonly title: string
  readonly url: string
  readonly text: string
  readonly more: readonly (readonly [title: string, url: string])[]
}

/** One card for each kind of reader. */
const CARDS: readonly Card[] = [
  {
    icon: ICONS.shield,
    title: 'Protect an API',
    url: '/docs/guides/protect-a-route',
    text: 'Put a guard in front of your routes. It decides inside your process and applies revocations in milliseconds.',
    more: [
      ['Frameworks', '/docs/guides/frameworks'],
      ['Reverse proxy', '/docs/guides/forward-auth'],
      ['Your own tokens', '/docs/guides/bring-your-own-tokens'],
    ],
  },
  {
    icon: ICONS.person,
    title: 'Sign people in',
    url: '/docs/guides/sign-in',
    text: 'Let people sign in with a credential in their browser, and end their sessions when access ends.',
    more: [
      ['Webhooks', '/docs/guides/webhooks'],
      ['Logout signals', '/docs/guides/signals'],
    ],
  },
  {
    icon: ICONS.agent,
    title: 'Run agents',
    url: '/docs/guides/agents',
    text: 'Give each agent a credential of its own, delegate less than you have, and revoke the whole chain at once.',
    more: [
      ['MCP servers', '/docs/guides/mcp-servers'],
      ['Examples', '/docs/examples'],
      ['CLI', '/docs/cli'],
    ],
  },
  {
    icon: ICONS.server,
    title: 'Operate it',
    url: '/docs/guides/deployment',
    text: 'Install, monitor and back up the service, and know what to do when a laptop is stolen or a key leaks.',
    more: [
      ['On call', '/docs/guides/on-call'],
      ['Settings', '/docs/operating'],
      ['Monitoring', '/docs/guides/monitoring'],
    ],
  },
  {
    icon: ICONS.key,
    title: 'Review the security',
    url: '/docs/guides/security-model',
    text: 'What each party can and cannot do, every promise about revocation, and how each one is tested.',
    more: [
      ['Revocation', '/docs/guides/revocation'],
      ['Trust and keys', '/docs/guides/trust-and-keys'],
    ],
  },
  {
    icon: ICONS.book,
    title: 'Look something up',
    url: '/docs/api',
    text: 'Every endpoint, error code, setting and command.',
    more: [
      ['Errors', '/docs/errors'],
      ['Settings', '/docs/operating'],
      ['OpenAPI', '/openapi.json'],
    ],
  },
]

const card = ({
  icon,
  title,
  url,
  text,
  more,
}: Card): Html => html`<li><div class="card">${icon}<h2><a href="${url}">${title}</a></h2>
<p>${text}</p>
<ul class="more">${more.map(([name, to]) => html`<li><a href="${to}">${name}</a></li>`)}</ul></div></li>\n`

/** GET /docs */
export function docsHome(): RouteAnswer {
  return renderDocsPage({
    title: 'Docs',
    description: 'Guides and reference for Countersign, by what you want to do.',
    path: '/docs',
    layout: 'wide',
    body: html`<h1>What do you want to do?</h1>
<p class="lead">Countersign issues credentials, checks them inside your own process and revokes them everywhere in milliseconds.
New here? The <a href="/docs/guides/quickstart">quick start</a> takes about five minutes.</p>
<ul class="cards">
${CARDS.map(card)}</ul>`,
  })
}
