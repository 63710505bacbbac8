import { isLoopback } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import { renderDocsPage } from '../documents/frame.ts'
import { createFrontContent } from '../front/front-content.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { Problem } from '../problem.ts'
import type { PageRequest, PageSite } from '../route.ts'

const VARY = { vary: 'accept' }
const DEFAULT_URL = 'http://127.0.0.1:8787'

const kept = new Map<string, RouteAnswer>()

/** GET /: the front page. There is nothing for programs, which read discovery. */
export function frontPage({ lines }: PageRequest, site: PageSite): RouteAnswer {
  if (!acceptsPage(lines)) throw new Problem('not_found', undefined, { headers: VARY })
  const key = `${site.hasConsole} ${site.baseUrl}`
  const known = kept.get(key)
  if (known !== undefined) return known
  const page = createFrontPage(site)
  kept.set(key, page)
  return page
}

function createFrontPage({ baseUrl, hasConsole }: PageSite): RouteAnswer {
  const page = renderDocsPage({
    title: 'Countersign',
    description:
      'Countersign checks signed credentials inside your own services and revokes them everywhere in milliseconds, with a receipt.',
    path: '/',
    layout: 'front',
    baseUrl,
    body: createFrontContent({
      // Commands are for the machine of the reader.
      baseUrl: isLoopback(new URL(baseUrl)) ? baseUrl : DEFAULT_URL,
      hasConsole,
    }),
  })
  return { ...page, headers: { ...page.headers, ...VARY } }
}
