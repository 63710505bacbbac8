import { formatTime } from '@countersign/core'
import type { IssuedToken, TokenPage } from '@countersign/core/contract'
import { tokenStatus } from '../../../actions/token-status.ts'
import type { Route } from '../../../route.ts'
import type { TokenRow } from '../../../store/operations/tokens.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { loadPage } from '../../shared/paging.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const listTokens: Route<'list_tokens'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { ppid, token_sha256: sha256 } = request.query
  const nowMs = deps.clock.nowMs()
  const page = await loadPage(
    deps.keys,
    { ...request.query, list: `tokens ${siteId}` },
    (wanted) => deps.store.tokens(siteId, { ppid, sha256 }, wanted),
    ({ jti }) => jti,
    async (row) => toTokenBody(row, await tokenStatus(deps, row, nowMs)),
  )
  const body: TokenPage = { ...page, items: await Promise.all(page.items) }
  return { status: 200, body }
}

/** The token itself was shown once, at the exchange; not even its hash is of use to a list. */
function toTokenBody(row: TokenRow, status: IssuedToken['status']): IssuedToken {
  const [credential] = row.chain
  if (credential === undefined) throw new Error('a token without a credential')
  return {
    token_id: row.jti,
    ppid: row.ppid,
    credential_id: credential.credentialId,
    scope: [...row.scope],
    permission_id: row.permissionId,
    status,
    issued_at: formatTime(row.issuedAtMs),
    expires_at: formatTime(row.expiresAtMs),
    revoked_at: toOptionalTime(row.revokedAtMs),
  }
}
