import type { SitePageInfo } from './checkpoint.ts'

/**
 * The pages up to `seq` in order. Each ends where the next one begins, so pages that were replaced
 * are not among them. Of two pages with the same end, the later one is used. Empty if the pages do
 * not reach from 1 to `seq`.
 */
export function toChain<Page extends SitePageInfo>(stored: readonly Page[], seq: number): readonly Page[] {
  const byEnd = new Map(stored.map((info) => [info.toSeq, info]))
  const pages: Page[] = []
  for (let end = seq; end > 0; ) {
    const page = byEnd.get(end)
    // A page that begins after its end would not get closer to the beginning.
    if (page === undefined || page.fromSeq > end) return []
    pages.push(page)
    end = page.fromSeq - 1
  }
  return pages.reverse()
}
