import type { Entry } from '@countersign/core'
import { type LogPage, parseFeedCursor } from '@countersign/core/contract'
import { loadLog } from '../../../actions/load-log.ts'
import type { Caller } from '../../../answer.ts'
import type { Route } from '../../../route.ts'
import { loadPage } from '../../shared/paging.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireOwnPath, requireSiteInPath } from '../../shared/site-access.ts'

export const listLogEntries: Route<'list_log_entries'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { kind, limit, cursor } = request.query
  const after = parseFeedCursor(request.query.after)
  const before = parseFeedCursor(request.query.before)
  const order = after !== undefined && before === undefined ? 'oldest' : 'newest'
  let epoch = deps.store.epoch
  let base: LogPage['base'] | undefined
  const page = await loadPage(
    deps.keys,
    { list: `log ${siteId} ${order}`, limit, cursor },
    async (wanted) => {
      const last = parseFeedCursor(wanted.after)
      const range = order === 'oldest' ? { after: last ?? after, before } : { after, before: last ?? before }
      epoch = deps.store.epoch
      const found = await loadLog(deps, siteId, { ...range, kind, order, limit: wanted.limit })
      base = found.base
      return found.entries
    },
    toPosition,
    (entry) => entry,
  )
  const body: LogPage = { epoch, base: base as LogPage['base'], ...page }
  return { status: 200, body }
}

export const readHead: Route<'read_head'> = async ({ caller, params, query }, { signedHeads }) => {
  requireOwnPath(caller, params.site_id)
  // A person is not a verifier.
  const isPerson = caller.kind !== 'anonymous' && caller.person !== undefined
  const isObserver = isPerson || query.observe !== undefined || !mayReadFeed(caller)
  const body = await signedHeads.read({ siteId: params.site_id, keyId: requireKeyId(caller), isObserver })
  return { status: 200, body }
}

function toPosition({ epoch, seq }: Entry): string {
  return `${epoch}.${seq}`
}

/** A key that may not read the feed cannot make access decisions with a head. */
function mayReadFeed(caller: Caller): boolean {
  return caller.kind === 'operator' || (caller.kind === 'site' && caller.permissions.includes('feed:read'))
}
