import type { LogPosition, Ppid, SiteId, SiteView } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { requireFresh } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { loadCurrentView } from '../log/load-current-view.ts'
import { toCredentialName } from '../store/credential-name.ts'
import type { UserEntry } from '../store/operations/user-history.ts'
import type { Page } from '../store/page.ts'
import { toCredentialState } from './revocation-status.ts'
import { tokenStatus } from './token-status.ts'

type UserDeps = Pick<Deps, 'store' | 'views' | 'clock'>

/** Whether a user is revoked, since when and why. */
export interface UserState {
  readonly revokedAtMs: number | undefined
  readonly reason: string | undefined
}

export interface KnownUser extends UserState {
  readonly ppid: Ppid
  readonly lastEntry: UserEntry
}

/** `complete` is false when counting stopped early. */
interface BoundedCount {
  readonly count: number
  readonly complete: boolean
}

export interface UserDetail extends UserState, LogPosition {
  readonly credentials: BoundedCount
  readonly tokens: BoundedCount
  /** The newest first. */
  readonly history: readonly UserEntry[]
  readonly isHistoryComplete: boolean
}

/** Rows that are read to count what a user has. */
const COUNTED_ROWS_MAX = 1000
const BATCH = 200

/**
 * The last entries about users, with their states, which the view of the log decides. Throws a
 * Problem when the view is stale.
 */
export async function loadKnownUsers(
  deps: UserDeps,
  siteId: SiteId,
  filter: { readonly isRevoked: boolean | undefined },
  page: Page,
): Promise<readonly KnownUser[]> {
  const entries = await deps.store.knownUsers(siteId, filter, page)
  const reasons = await deps.store.revocationReasons(
    siteId,
    entries.map(({ ppid }) => ppid),
  )
  const view = await loadCurrentView(deps, siteId)
  requireFresh(deps.views)
  return entries.map((lastEntry) => {
    const { ppid } = lastEntry
    return { ppid, lastEntry, ...toUserState(view, ppid, reasons.get(ppid)) }
  })
}

/** One user. The answer for a user without log entries has no history. */
export async function loadUser(deps: UserDeps, siteId: SiteId, ppid: Ppid): Promise<UserDetail> {
  const { store, views } = deps
  const found = await store.userEntries(siteId, ppid, limits.user_entries_listed_max + 1)
  const reasons = await store.revocationReasons(siteId, [ppid])
  const view = await loadCurrentView(deps, siteId)
  const [credentials, tokens] = [
    await countCredentials(deps, siteId, ppid),
    await countTokens(deps, siteId, ppid),
  ]
  requireFresh(views)
  const { epoch, seq } = view.head
  return {
    ...toUserState(view, ppid, reasons.get(ppid)),
    credentials,
    tokens,
    history: found.slice(0, limits.user_entries_listed_max),
    isHistoryComplete: found.length <= limits.user_entries_listed_max,
    epoch,
    seq,
  }
}

/** Of what is issued in the future: a user who was signed out or reinstated is active. */
function toUserState(view: SiteView, ppid: Ppid, reason: string | undefined): UserState {
  const revocation = view.userRevocation(ppid, Infinity)
  return { revokedAtMs: revocation?.sinceMs, reason: revocation && reason }
}

async function countCredentials(deps: UserDeps, siteId: SiteId, ppid: Ppid): Promise<BoundedCount> {
  const nowMs = deps.clock.nowMs()
  let [count, rowsLeft] = [0, COUNTED_ROWS_MAX]
  // Those with another stored status are not active. See `updateStatuses`.
  for (const status of ['active', 'new'] as const) {
    for (let after: string | undefined; ; ) {
      const page = await deps.store.credentials(siteId, { ppid, status }, { after, limit: BATCH })
      count += page.filter((row) => toCredentialState(deps, row, nowMs).status === 'active').length
      rowsLeft -= page.length
      const last = page.at(-1)
      if (last === undefined || page.length < BATCH) break
      if (rowsLeft <= 0) return { count, complete: false }
      after = toCredentialName(last)
    }
  }
  return { count, complete: true }
}

async function countTokens(deps: UserDeps, siteId: SiteId, ppid: Ppid): Promise<BoundedCount> {
  const nowMs = deps.clock.nowMs()
  let [count, rowsLeft] = [0, COUNTED_ROWS_MAX]
  for (let after: string | undefined; ; ) {
    const page = await deps.store.tokens(siteId, { ppid }, { after, limit: BATCH })
    for (const row of page) if ((await tokenStatus(deps, row, nowMs)) === 'active') count++
    rowsLeft -= page.length
    const last = page.at(-1)
    if (last === undefined || page.length < BATCH) return { count, complete: true }
    if (rowsLeft <= 0) return { count, complete: false }
    after = last.jti
  }
}
