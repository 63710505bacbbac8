import { problemCodes, problems as table } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import type { Config } from '../config.ts'
import { findStored } from '../http/stored-answer.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { findProblemStatus, renderProblem, renderProblems } from '../reference/reference.ts'
import type { PageRequest, Route } from '../route.ts'

const VARY = { vary: 'accept' }

/** GET /problems/{code}: a page for browsers, JSON for other clients. */
export const problemPage: Route<'problem_page'> = async ({ params: { code }, lines }, { config }) => {
  const { baseUrl } = config
  if (acceptsPage(lines))
    return findStored(`/problems/${code} ${baseUrl}`, () => withVary(renderProblem(code, baseUrl))).answer(
      lines,
    )
  const { status, title, meaning, remedy, retryable = false } = table[code]
  return {
    status: 200,
    contentType: 'application/json',
    headers: VARY,
    body: { code, status, title, meaning, remedy, retryable },
  }
}

/** GET /problems: all codes, as a page for browsers and as JSON for programs. */
export function problemsPage({ lines, query }: PageRequest, { baseUrl }: Config): RouteAnswer {
  if (acceptsPage(lines)) {
    const status = findProblemStatus(query)
    const render = () => withVary(renderProblems(status, baseUrl))
    return findStored(`/problems ${status} ${baseUrl}`, render).answer(lines)
  }
  const items = problemCodes.map((code) => ({ code, status: table[code].status, title: table[code].title }))
  return { status: 200, contentType: 'application/json', headers: VARY, body: { items } }
}

function withVary(page: RouteAnswer): RouteAnswer {
  return { ...page, headers: { 'cache-control': 'no-cache', ...page.headers, ...VARY } }
}
