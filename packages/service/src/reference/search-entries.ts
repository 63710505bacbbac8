import { endpointList, problemCodes, problems } from '@countersign/core/contract'
import type { SearchEntry } from '../documents/search-index.ts'
import { toEndpointUrl } from './areas.ts'

/** What the search finds in the reference. */
export const referenceEntries: readonly SearchEntry[] = [
  ...endpointList.map(({ id, method, path, summary, ...rest }) => ({
    url: toEndpointUrl(id),
    page: summary,
    title: summary,
    text: `${method} ${path} ${id} ${'description' in rest ? rest.description : ''}`,
  })),
  ...problemCodes.map((code) => ({
    url: `/problems/${code}`,
    page: problems[code].title,
    title: problems[code].title,
    text: `${code} ${problems[code].meaning} ${problems[code].remedy}`,
  })),
]
