import type { CredentialId, Entry, Ppid, SiteId, SiteView } from '@countersign/core'
import type { Logger } from 'pino'
import { staleProblem } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import { toCredentialName } from '../store/credential-name.ts'
import type { ClassifiedCredential } from '../store/operations/credential-statuses.ts'
import type { CredentialFilter, CredentialRow, ListedStatus } from '../store/operations/credentials.ts'
import type { Page } from '../store/page.ts'
import { toCredentialState } from './revocation-status.ts'

type StatusDeps = Pick<Deps, 'store' | 'views' | 'clock'>

const BATCH = 500
const EVERY_MS = 10_000
const CORRECTIONS_MAX = 10
const SITES_A_PAGE = 200

/** What a list shows: decided by the view, as everywhere else. */
function toListedStatus(deps: Pick<Deps, 'views'>, row: CredentialRow, nowMs: number): ListedStatus {
  const { status } = toCredentialState(deps, row, nowMs)
  // A known credential is never unknown.
  return status === 'unknown' ? 'active' : status
}

/**
 * Brings the stored statuses of a site's credentials up to date with this node's view and clock, so
 * that lists by status can be read from an index. Stops when it has looked at about `rowsMax`
 * credentials. True when all statuses are current.
 */
export async function updateStatuses(deps: StatusDeps, siteId: SiteId, rowsMax: number): Promise<boolean> {
  const { store, views, clock } = deps
  const work: Work = { store, views, siteId, nowMs: clock.nowMs(), rowsLeft: rowsMax }
  return (await applyTime(work)) && (await applyEntries(work)) && (await classifyNew(work))
}

/**
 * A page of the credentials with a status. The stored status only finds them: one that this node's
 * view does not confirm is corrected and left out. Throws a Problem when the view is stale.
 */
export async function loadByStatus(
  deps: StatusDeps,
  siteId: SiteId,
  { status, ...filter }: Omit<CredentialFilter, 'status'> & { readonly status: ListedStatus },
  page: Page,
): Promise<readonly CredentialRow[]> {
  const nowMs = deps.clock.nowMs()
  for (let tries = 0; tries < CORRECTIONS_MAX; tries++) {
    const rows = await deps.store.credentials(siteId, { ...filter, status }, page)
    const wrong = rows.filter((row) => toListedStatus(deps, row, nowMs) !== status)
    if (wrong.length === 0) return rows
    const seq = deps.views.view(siteId)?.head.seq ?? 0
    if (await deps.store.classifyCredentials(siteId, seq, classify(deps, wrong, nowMs))) continue
    // Another node has applied later entries than this one.
    await deps.views.waitFor(await deps.store.logPosition()).catch(() => {
      throw staleProblem('store_unavailable')
    })
  }
  throw staleProblem('store_unavailable')
}

/** Updates the statuses of all sites, about every ten seconds. */
export function startStatusUpdates(
  deps: StatusDeps & { readonly log: Pick<Logger, 'warn'> },
  ms: number = EVERY_MS,
): PeriodicJob {
  return everyMs(
    ms,
    () => updateAllStatuses(deps),
    (err) => deps.log.warn({ err }, 'the list of credentials could not be updated; trying again'),
    0.2,
  )
}

export async function updateAllStatuses(deps: StatusDeps): Promise<void> {
  for (let after: SiteId | undefined; ; ) {
    const sites = await deps.store.sitesToClassify(deps.clock.nowMs(), { after, limit: SITES_A_PAGE })
    for (const siteId of sites) await updateStatuses(deps, siteId, Number.POSITIVE_INFINITY)
    after = sites.at(-1)
    if (sites.length < SITES_A_PAGE) return
  }
}

interface Work extends Pick<Deps, 'store' | 'views'> {
  readonly siteId: SiteId
  readonly nowMs: number
  rowsLeft: number
}

async function applyTime(work: Work): Promise<boolean> {
  for (let changed = BATCH; changed >= BATCH; ) {
    if (work.rowsLeft <= 0) return false
    changed = await work.store.classifyExpired(work.siteId, work.nowMs, BATCH)
    work.rowsLeft -= changed
  }
  return true
}

/** Classifies again what the entries since the last time may have revoked. */
async function applyEntries(work: Work): Promise<boolean> {
  const { store, views, siteId } = work
  for (;;) {
    const view = views.view(siteId)
    if (view === undefined) return true
    const { seq } = view.head
    const doneSeq = await store.claimClassification(siteId, seq)
    if (doneSeq === undefined) return false
    if (doneSeq >= seq) return true
    const found = await store.siteEntriesAfter(siteId, doneSeq, BATCH)
    const entries = found.filter((entry) => entry.seq <= seq)
    // Entries from before the base of the log are no longer there: then all are looked at.
    const isWhole = entries[0]?.seq === doneSeq + 1
    const named = isWhole ? nameCredentials(entries) : 'all'
    const isDone = named === 'all' ? await classifyAll(work, view) : await classifyNamed(work, view, named)
    if (!isDone) return false
    await store.finishClassification(siteId, (isWhole ? entries.at(-1)?.seq : undefined) ?? seq)
  }
}

interface Named {
  readonly ppids: ReadonlySet<Ppid>
  readonly linkIds: ReadonlySet<CredentialId>
}

/** `all`: an entry may have revoked any credential of the site. */
function nameCredentials(entries: readonly Entry[]): Named | 'all' {
  const ppids = new Set<Ppid>()
  const linkIds = new Set<CredentialId>()
  for (const { kind, body } of entries) {
    switch (kind) {
      case 'user.revoked':
      case 'user.reinstated':
      case 'user.signed_out':
        ppids.add(body.ppid)
        break
      case 'credential.revoked':
        linkIds.add(body.credential_id)
        break
      case 'holder.revoked':
      case 'issuer.cut_off':
      case 'site.cut_off':
        return 'all'
    }
  }
  return { ppids, linkIds }
}

/** A revocation is permanent, so revoked credentials need not be looked at. */
async function classifyAll(work: Work, view: SiteView): Promise<boolean> {
  for (const status of ['active', 'expired'] as const) {
    const isDone = await classifyPages(work, view, toCredentialName, (after) =>
      work.store.credentials(work.siteId, { status }, { after, limit: BATCH }),
    )
    if (!isDone) return false
  }
  return true
}

async function classifyNamed(work: Work, view: SiteView, { ppids, linkIds }: Named): Promise<boolean> {
  const names = { ppids: [...ppids], linkIds: [...linkIds] }
  return classifyPages(
    work,
    view,
    ({ credentialId }) => credentialId,
    (after) => work.store.credentialsNamed(work.siteId, names, { after, limit: BATCH }),
  )
}

async function classifyNew(work: Work): Promise<boolean> {
  const view = work.views.view(work.siteId)
  if (view === undefined) return true
  return classifyPages(work, view, toCredentialName, (after) =>
    work.store.credentials(work.siteId, { status: 'new' }, { after, limit: BATCH }),
  )
}

async function classifyPages(
  work: Work,
  view: SiteView,
  toName: (row: CredentialRow) => string,
  loadPage: (after: string | undefined) => Promise<readonly CredentialRow[]>,
): Promise<boolean> {
  const { store, siteId, nowMs } = work
  for (let after: string | undefined; ; ) {
    if (work.rowsLeft <= 0) return false
    const page = await loadPage(after)
    const last = page.at(-1)
    if (last === undefined) return true
    work.rowsLeft -= page.length
    after = toName(last)
    const { seq } = view.head
    if (!(await store.classifyCredentials(siteId, seq, classify(work, page, nowMs)))) return false
    if (page.length < BATCH) return true
  }
}

function classify(
  deps: Pick<Deps, 'views'>,
  rows: readonly CredentialRow[],
  nowMs: number,
): readonly ClassifiedCredential[] {
  return rows.map((row) => ({
    credentialId: row.credentialId,
    status: toListedStatus(deps, row, nowMs),
  }))
}
