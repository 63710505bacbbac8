import type { SiteView } from '@countersign/core'
import type { Deps } from '../deps.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type {
  RevokedAll,
  RevokedCredential,
  RevokedToken,
  TargetsAtSite,
} from '../store/operations/bulk-revocations.ts'
import type { RevokedUser } from '../store/operations/revocations.ts'
import { confirmRevocation } from './confirm-revocation.ts'
import { isTokenRevokedIn } from './revoke-token.ts'

/** Of an answer, with the answer itself: the rest of it stays. */
interface Unconfirmed {
  readonly answer: RevokedAll
  readonly users: readonly RevokedUser[]
  readonly credentials: readonly RevokedCredential[]
  readonly tokens: readonly RevokedToken[]
}

/**
 * Revokes users, credentials and tokens of a site together, or none of them. The promises are those
 * of `revokeUser`.
 */
export function revokeTargets(
  deps: Pick<Deps, 'store' | 'views'>,
  targets: TargetsAtSite,
  context: AuditContext,
): Promise<RevokedAll> {
  const { siteId } = targets
  return confirmRevocation<RevokedAll, Unconfirmed>(deps, {
    revokeInStore: async (unconfirmed) => {
      if (unconfirmed === undefined) return deps.store.revokeAll(targets, context)
      const { answer, users, credentials, tokens } = unconfirmed
      const left = {
        ...targets,
        ppids: users.map(({ ppid }) => ppid),
        credentialIds: credentials.map(({ credentialId }) => credentialId),
        jtis: tokens.map(({ jti }) => jti),
      }
      return replaceIn(answer, await deps.store.revokeAll(left, context, { users, credentials, tokens }))
    },
    findUnconfirmed,
    siteId,
    row: { table: 'users, credential_revocations or tokens', key: siteId },
  })
}

function findUnconfirmed(view: SiteView, answer: RevokedAll): Unconfirmed | undefined {
  const users = answer.users.filter(
    ({ alreadyRevoked, ppid }) => alreadyRevoked && view.userRevocation(ppid, Infinity) === undefined,
  )
  const credentials = answer.credentials.filter(
    ({ alreadyRevoked, credentialId }) =>
      alreadyRevoked && view.credentialRevocation(credentialId) === undefined,
  )
  const tokens = answer.tokens.filter(
    ({ revocation }) => revocation?.alreadyRevoked && !isTokenRevokedIn(view, revocation.token),
  )
  const isConfirmed = users.length + credentials.length + tokens.length === 0
  return isConfirmed ? undefined : { answer, users, credentials, tokens }
}

/** The answer with the parts that were revoked again. */
function replaceIn(answer: RevokedAll, again: RevokedAll): RevokedAll {
  return {
    users: answer.users.map((each) => again.users.find(({ ppid }) => ppid === each.ppid) ?? each),
    credentials: answer.credentials.map(
      (each) => again.credentials.find(({ credentialId }) => credentialId === each.credentialId) ?? each,
    ),
    tokens: answer.tokens.map((each) => again.tokens.find(({ jti }) => jti === each.jti) ?? each),
    alreadyRevoked: answer.alreadyRevoked,
    position: again.position,
  }
}
