import { checkEntry, type Entry, type SiteId, SiteView } from '@countersign/core'
import { expect } from 'vitest'
import type { LoggedEntry } from '../../src/store/operations/log.ts'
import type { Store } from '../../src/store/store.ts'

export async function entriesOf(store: Store, siteId: SiteId): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const page = await store.siteEntriesAfter(siteId, entries.length, 100)
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
  const view = new SiteView({ siteId, entriesAreProven: true })
  for (const entry of await entriesOf(store, siteId)) {
    const checked = await checkEntry(entry)
    if (checked === undefined) throw new Error('an entry does not have its hash')
    expect(view.apply(checked)).toBe('applied')
  }
  return view
}
