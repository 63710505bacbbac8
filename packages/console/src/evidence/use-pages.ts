import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { useLoad } from '../api/use-load.ts'

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

export interface Pages<Item> {
  /** Undefined until the first answer. */
  readonly items: readonly Item[] | undefined
  readonly cursor: string | null
  readonly fault: string | undefined
  reload(): void
  loadMore(): void
}

const LIMIT = 25

/** A list of the API, one page after the other. A new `again` loads the first page again. */
export function usePages<Item>(
  siteId: string,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  again: unknown,
): Pages<Item> {
  const key = JSON.stringify([path, query])
  const [limit, setLimit] = useState(LIMIT)
  useEffect(() => setLimit(LIMIT), [key])
  const { value, fault, reload } = useLoad(
    key,
    async (signal) => {
      const options = { site: siteId, signal }
      let page = await call<Page<Item>>(path, {
        ...options,
        query: { ...query, limit: Math.min(limit, 200) },
      })
      const items = [...page.items]
      while (items.length < limit && page.next_cursor !== null) {
        page = await call<Page<Item>>(path, {
          ...options,
          query: { ...query, limit: Math.min(limit - items.length, 200), cursor: page.next_cursor },
        })
        items.push(...page.items)
      }
      return { items, next_cursor: page.next_cursor }
    },
    { again: `${again} ${limit}`, everyMs: RELOAD_MS },
  )
  return {
    items: value?.items,
    cursor: value?.next_cursor ?? null,
    fault,
    reload,
    loadMore: () => setLimit((n) => n + LIMIT),
  }
}

const RELOAD_MS = 4000
