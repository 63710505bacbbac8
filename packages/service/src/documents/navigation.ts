import { areas, REFERENCE_URL, toEndpointUrl } from '../reference/areas.ts'
import { DECISIONS_URL, documents } from './documents.ts'
import { sections } from './reading-order.ts'

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

/** The groups of the navigation around a page, in reading order. */
export function navigationGroups(path: string): readonly LinkGroup[] {
  if (new RegExp(`^(?:${REFERENCE_URL}|/problems)(?:/|$)`).test(path)) return referenceGroups
  kept ??= createGroups()
  return kept
}

/** The navigation of the API reference: its own pages only, because there are so many. */
const referenceGroups: readonly LinkGroup[] = [
  {
    name: 'API',
    links: [
      { title: 'Overview', url: REFERENCE_URL },
      { title: 'Problem codes', url: '/problems' },
      { title: 'Interface details', url: '/docs/interface' },
      { title: 'All docs', url: '/docs' },
    ],
  },
  ...areas.map(({ title, endpoints }) => ({
    name: title,
    isFolded: true,
    links: endpoints.map(({ id, summary }) => ({ title: summary, url: toEndpointUrl(id) })),
  })),
]

/** The group of a page. */
export function findGroup(path: string): LinkGroup | undefined {
  return navigationGroups(path).find(({ links }) => links.some(({ url }) => url === path))
}

/** The pages before and after one, in the order of the navigation. */
export function findNeighbors(path: string): { readonly previous?: Link; readonly next?: Link } {
  const all = navigationGroups(path).flatMap(({ links }) => links)
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
    if (name === 'Reference') links.unshift({ title: 'API', url: REFERENCE_URL })
    if (name === 'Contribute') links.push({ title: 'Decisions', url: DECISIONS_URL })
    return { name, links, isFolded }
  })
}
