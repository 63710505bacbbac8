import { isLoopback } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import type { Config } from '../config.ts'
import { renderDocsPage } from '../documents/frame.ts'
import { createFrontContent } from '../front/front-content.ts'
import { findStored } from '../http/stored-answer.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { Problem } from '../problem.ts'
import type { PageRequest } from '../route.ts'

const VARY = { vary: 'accept' }
const DEFAULT_URL = 'http://127.0.0.1:8787'

/** GET /: the front page. There is nothing for programs, which read discovery. */
export function frontPage({ lines }: PageRequest, config: Config): RouteAnswer {
  if (!acceptsPage(lines)) throw new Problem('not_found', undefined, { headers: VARY })
  // A console with an address of its own is not announced here.
  const hasConsole = config.console && config.consoleUrl === undefined
  const { baseUrl } = config
  return findStored(`/ ${baseUrl} ${hasConsole}`, () => createFrontPage(baseUrl, hasConsole)).answer(lines)
}

function createFrontPage(baseUrl: string, hasConsole: boolean): RouteAnswer {
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
  return { ...page, headers: { 'cache-control': 'no-cache', ...page.headers, ...VARY } }
}
