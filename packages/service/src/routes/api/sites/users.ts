import { formatTime } from '@countersign/core'
import type { KnownUser, UserDetail, UserPage } from '@countersign/core/contract'
import { loadKnownUsers, loadUser, type UserState } from '../../../actions/known-users.ts'
import type { Route } from '../../../route.ts'
import type { UserEntry } from '../../../store/operations/user-history.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { loadPage } from '../../shared/paging.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const listUsers: Route<'list_users'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { status } = request.query
  const isRevoked = status === undefined ? undefined : status === 'revoked'
  const page = await loadPage(
    deps.keys,
    { ...request.query, list: `users ${siteId}` },
    (wanted) => loadKnownUsers(deps, siteId, { isRevoked }, wanted),
    ({ lastEntry }) => String(lastEntry.seq),
    (user): KnownUser => ({
      ppid: user.ppid,
      ...toState(user),
      last_entry: toEntryBody(user.lastEntry),
    }),
  )
  // The state may have changed since the rows were read.
  const items = page.items.filter((user) => status === undefined || user.status === status)
  const body: UserPage = { ...page, items }
  return { status: 200, body }
}

export const getUser: Route<'get_user'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { ppid } = request.params
  const user = await loadUser(deps, siteId, ppid)
  const body: UserDetail = {
    site_id: siteId,
    ppid,
    ...toState(user),
    credentials: user.credentials,
    tokens: user.tokens,
    history: user.history.map(toEntryBody),
    history_complete: user.isHistoryComplete,
    epoch: user.epoch,
    seq: user.seq,
  }
  return { status: 200, body }
}

function toState({ revokedAtMs, reason }: UserState): Pick<KnownUser, 'status' | 'revoked_at' | 'reason'> {
  return {
    status: revokedAtMs === undefined ? 'active' : 'revoked',
    revoked_at: toOptionalTime(revokedAtMs),
    reason: reason ?? null,
  }
}

function toEntryBody({ seq, kind, atMs, reason }: UserEntry): KnownUser['last_entry'] {
  return { seq, kind, at: formatTime(atMs), reason: reason ?? null }
}
