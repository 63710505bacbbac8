import { computed, signal } from '@preact/signals'

/** Where the console is, as the address bar says. */
export interface Place {
  /** Undefined for pages of the whole service. */
  readonly siteId: string | undefined
  readonly page: string
  /** What the page shows, such as a user or an entry. */
  readonly id: string | undefined
  readonly query: URLSearchParams
}

const BASE = '/console/'
const address = signal(new URL(location.href))

export const place = computed<Place>(() => {
  const [first = '', ...rest] = address.value.pathname.slice(BASE.length).split('/').map(decodePart)
  const { searchParams: query } = address.value
  if (first === 'sites') {
    const [siteId, page = 'overview', id] = rest
    return { siteId: siteId === '' ? undefined : siteId, page, id, query }
  }
  return { siteId: undefined, page: first === '' ? 'start' : first, id: rest[0], query }
})

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function sitePath(siteId: string, page: string, id?: string): string {
  const parts = ['sites', siteId, page, ...(id === undefined ? [] : [id])]
  return BASE + parts.map(encodeURIComponent).join('/')
}

export function servicePath(page: string): string {
  return BASE + page
}

/** The audit rows about one thing, such as a key or an issuer. */
export function auditPath(siteId: string, target: string): string {
  return `${sitePath(siteId, 'audit')}?${new URLSearchParams({ target })}`
}

/** Opens another page. `replace` while something is typed: one history entry, not one per key. */
export function open(path: string, { replace = false } = {}): void {
  const next = new URL(path, location.href)
  if (next.href === location.href) return
  const isOtherPage = next.pathname !== location.pathname
  history[replace ? 'replaceState' : 'pushState'](null, '', next)
  address.value = next
  if (!replace && isOtherPage) scrollTo(0, 0)
}

/** Changes the query of this page. An empty value removes a parameter. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  options?: { replace?: boolean },
): void {
  const next = new URL(address.value)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.searchParams.delete(name)
    else next.searchParams.set(name, value)
  }
  open(next.pathname + next.search, options)
}

/** Follows links of the console without loading a page. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    address.value = new URL(location.href)
  })
  document.addEventListener('click', (event) => {
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (
      !isPlain ||
      link === null ||
      event.defaultPrevented ||
      link.target !== '' ||
      link.hasAttribute('download')
    )
      return
    if (link.origin !== location.origin || !link.pathname.startsWith(BASE)) return
    event.preventDefault()
    open(link.pathname + link.search)
  })
}
