import type { RouteAnswer } from '../answer.ts'
import { renderDocsPage } from '../documents/frame.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { html } from '../pages/html.ts'
import { Problem } from '../problem.ts'
import type { PageRequest } from '../route.ts'

/** GET /: where a browser goes from here. There is nothing for programs, which read discovery. */
export function frontPage({ lines }: PageRequest): RouteAnswer {
  if (!acceptsPage(lines)) throw new Problem('not_found')
  return renderDocsPage({
    title: 'Countersign',
    description: 'Issues and checks credentials, and revokes them everywhere they are accepted.',
    path: '/',
    layout: 'front',
    body: html`<h1>This is a Countersign service</h1>
<p>It issues and checks credentials for sites, and revokes them everywhere they are accepted.</p>
<h2>For people who sign in</h2>
<ul>
<li><a href="/wallet">Your wallet</a>: the credentials in this browser</li>
<li><a href="/docs/guides/for-users">Help with signing in</a></li>
</ul>
<h2>For developers and operators</h2>
<ul>
<li><a href="/docs/readme">What Countersign is, and how to start</a></li>
<li><a href="/docs">Documentation</a></li>
<li><a href="/problems">Problem codes</a></li>
<li><a href="/openapi.json">OpenAPI document</a> and <a href="/.well-known/countersign">discovery document</a></li>
</ul>`,
  })
}
