import { problemCodes, problems as table } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { reference } from '../reference/reference.ts'
import type { PageRequest, PageSite, Route } from '../route.ts'

const VARY = { vary: 'accept' }

/** GET /problems/{code}: a page for browsers, JSON for other clients. */
export const problemPage: Route<'problem_page'> = async ({ params: { code }, lines }, { config }) => {
  if (acceptsPage(lines)) return withVary(reference(config.baseUrl).problem(code))
  const { status, title, meaning, remedy, retryable = false } = table[code]
  return {
    status: 200,
    contentType: 'application/json',
    headers: VARY,
    body: { code, status, title, meaning, remedy, retryable },
  }
}

/** GET /problems: all codes, as a page for browsers and as JSON for programs. */
export function problemsPage({ lines, query }: PageRequest, { baseUrl }: PageSite): RouteAnswer {
  if (acceptsPage(lines)) return withVary(reference(baseUrl).problems(query))
  const items = problemCodes.map((code) => ({ code, status: table[code].status, title: table[code].title }))
  return { status: 200, contentType: 'application/json', headers: VARY, body: { items } }
}

function withVary(page: RouteAnswer): RouteAnswer {
  return { ...page, headers: { ...page.headers, ...VARY } }
}
