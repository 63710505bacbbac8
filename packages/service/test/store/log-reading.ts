import type { Entry, SiteId, SiteView } from '@countersign/core'
import { readToEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { restoreLog } from '../../src/store/checkpoints/restore-log.ts'
import type { LoggedEntry } from '../../src/store/operations/log.ts'
import type { Store } from '../../src/store/store.ts'

/** Those after the base. */
export async function entriesOf(store: Store, siteId: SiteId): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const page = await store.siteEntriesAfter(siteId, entries.at(-1)?.seq ?? 0, 100)
    entries.push(...page)
    if (page.length < 100) return entries
  }
}

export async function kindsOf(store: Store, siteId: SiteId): Promise<readonly string[]> {
  return (await entriesOf(store, siteId)).map(({ kind }) => kind)
}

export async function lastEntryOf(store: Store, siteId: SiteId): Promise<Entry> {
  const entry = (await entriesOf(store, siteId)).at(-1)
  if (entry === undefined) throw new Error('the log is empty')
  return entry
}

export async function wholeLog(store: Store): Promise<readonly LoggedEntry[]> {
  const entries: LoggedEntry[] = []
  for (;;) {
    const { entries: page } = await store.entriesAfter(entries.at(-1)?.position ?? 0, 500)
    entries.push(...page)
    if (page.length < 500) return entries
  }
}

/** What a verifier knows who has nothing but the log. */
export async function viewOf(store: Store, siteId: SiteId): Promise<SiteView> {
  const { log } = await restoreLog(store)
  await readToEnd(store, log)
  const view = log.views.get(siteId)
  if (view === undefined) throw new Error('the log does not have the site')
  return view
}
