import type { RouteAnswer } from '../answer.ts'
import type { Config } from '../config.ts'
import { textAnswer } from '../documents/document-page.ts'
import { exampleNames } from '../documents/examples.ts'
import { writeLlms, writeLlmsFull } from '../documents/llms.ts'
import { findStored } from '../http/stored-answer.ts'
import type { PageRequest } from '../route.ts'

/** GET /llms.txt: what programs that read find here. */
export function llms({ path, lines }: PageRequest, config: Config): RouteAnswer {
  const names = exampleNames(config)
  return findStored(`${path} ${names.baseUrl}`, () => textAnswer(writeLlms(names))).answer(lines)
}

/** GET /llms-full.txt: all guides in one file. */
export function llmsFull({ path, lines }: PageRequest, config: Config): RouteAnswer {
  const names = exampleNames(config)
  const create = () => textAnswer(writeLlmsFull(names))
  return findStored(`${path} ${names.baseUrl} ${names.siteId}`, create).answer(lines)
}

/** What is of no use in a search engine: endpoints, and pages that belong to one person. */
const ROBOTS = `User-agent: *
Disallow: /api/
Disallow: /auth/
Disallow: /console
Disallow: /docs/search
Disallow: /wallet
`

/** GET /robots.txt */
export function robots({ path, lines }: PageRequest): RouteAnswer {
  return findStored(path, () => textAnswer(ROBOTS)).answer(lines)
}
