import { loadAllRows } from '../all-rows.ts'
import type { SiteHead } from './operations/log.ts'
import type { Store } from './store.ts'

/** Where the log of each site ends. */
export function loadSiteHeads(store: Pick<Store, 'siteHeads'>): Promise<readonly SiteHead[]> {
  return loadAllRows((last, limit) => store.siteHeads({ after: last?.siteId, limit }))
}
