import { DECISIONS_URL, documents } from './documents.ts'
import { sections } from './reading-order.ts'

/** The list of all endpoints. */
export const API_URL = '/docs/api'

export interface Link {
  readonly title: string
  readonly url: string
}

/** One group of the navigation. */
export interface LinkGroup {
  readonly name: string
  readonly links: readonly Link[]
  /** Whether it is shown folded, except on its own pages. */
  readonly isFolded?: boolean
}

let kept: readonly LinkGroup[] | undefined

/** All groups of the navigation, in reading order. */
export function navigationGroups(): readonly LinkGroup[] {
  kept ??= createGroups()
  return kept
}

/** The group of a page. */
export function findGroup(path: string): LinkGroup | undefined {
  return navigationGroups().find(({ links }) => links.some(({ url }) => url === path))
}

/** The pages before and after one, in the order of the navigation. */
export function findNeighbors(path: string): { readonly previous?: Link; readonly next?: Link } {
  const all = navigationGroups().flatMap(({ links }) => links)
  const at = all.findIndex(({ url }) => url === path)
  if (at < 0) return {}
  const [previous, next] = [all[at - 1], all[at + 1]]
  return { ...(previous && { previous }), ...(next && { next }) }
}

function createGroups(): readonly LinkGroup[] {
  const byPath = new Map(documents().pages.map((page) => [page.path, page]))
  return sections.map(({ name, pages, isFolded = false }) => {
    const links = pages.flatMap(({ path, title }) => {
      const page = byPath.get(path)
      return page === undefined ? [] : [{ title: title ?? page.title, url: page.url }]
    })
    if (name === 'Reference') links.unshift({ title: 'API', url: API_URL })
    if (name === 'Contribute') links.push({ title: 'Decisions', url: DECISIONS_URL })
    return { name, links, isFolded }
  })
}
