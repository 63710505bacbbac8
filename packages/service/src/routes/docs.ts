import { endpointList } from '@countersign/core/contract'
import * as z from 'zod'
import type { RouteAnswer } from '../answer.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { findDocument } from '../documents/document-page.ts'
import { documents } from '../documents/documents.ts'
import { type ExampleNames, exampleNames } from '../documents/examples.ts'
import { docsHome } from '../documents/home.ts'
import { SEARCH_URL, searchPage, searchResults } from '../documents/search-page.ts'
import { findStored } from '../http/stored-answer.ts'
import { createOpenapi } from '../openapi.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { Problem } from '../problem.ts'
import { findReferencePage } from '../reference/reference.ts'
import { toYaml } from '../reference/to-yaml.ts'
import type { PageRequest, Route, RouteRequest } from '../route.ts'

/**
 * GET /openapi.json: with line breaks for browsers. Built once: it is 394 KB and takes about 170 ms
 * to build.
 */
export const openapi: Route<'openapi'> = async ({ lines }, { config: { baseUrl } }) => {
  const indent = acceptsPage(lines) ? 2 : 0
  return findStored(`/openapi.json ${baseUrl} ${indent}`, () => ({
    status: 200,
    contentType: 'application/json',
    headers: { vary: 'accept' },
    body: JSON.stringify(createOpenapi(endpointList, baseUrl), undefined, indent),
  })).answer(lines)
}

/** GET /openapi.yaml: the same document, built once too. */
export const openapiYaml = ({ lines }: PageRequest, { baseUrl }: Config): RouteAnswer =>
  findStored(`/openapi.yaml ${baseUrl}`, () => ({
    status: 200,
    contentType: 'application/yaml',
    headers: { 'cache-control': 'no-cache' },
    body: toYaml(createOpenapi(endpointList, baseUrl)),
  })).answer(lines)

/** GET /docs: where to start, for each kind of reader. */
export const docs: Route<'docs'> = async ({ lines }) => findStored('/docs', docsHome).answer(lines)

/** Addresses below /docs may have any query, as links from elsewhere often do. */
export const documentsRequest = { query: z.looseObject({}) }

/**
 * GET /docs/…: the files of the repository that are written for people, the API reference, and the
 * search. An address with a slash at its end leads to the one without. Throws `not_found` for
 * everything else.
 */
export async function documentPage(
  { holderRequest: { path, query }, lines }: Pick<RouteRequest, 'holderRequest' | 'lines'>,
  { config }: Pick<Deps, 'config'>,
  find: typeof findPage = findPage,
): Promise<RouteAnswer> {
  const short = withoutSlashes(path)
  if (path === SEARCH_URL) return search(new URLSearchParams(query).get('q') ?? '', lines)
  const names = exampleNames(config)
  const render = find(short, names)
  if (short !== path && (short === '/docs' || render !== undefined))
    return { status: 308, headers: { location: short } }
  if (render === undefined) throw new Problem('not_found')
  return findStored(`${short} ${names.baseUrl} ${names.siteId}`, render).answer(lines)
}

/** A page is rendered only to be stored: that takes up to 170 ms. */
function findPage(url: string, names: ExampleNames): (() => RouteAnswer) | undefined {
  return findReferencePage(url, names) ?? findDocument(documents(), url, names)
}

/** Not by `/\/+$/`, which takes quadratic time for a long row of slashes before a character. */
function withoutSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

function search(query: string, lines: RouteRequest['lines']): Promise<RouteAnswer> {
  const isForScript = lines('accept')?.some((line) => line.includes('application/json')) ?? false
  return isForScript ? searchResults(query) : searchPage(query)
}
