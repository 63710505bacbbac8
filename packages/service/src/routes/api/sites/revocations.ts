import { type CredentialId, formatTime, type Ppid, type SiteId } from '@countersign/core'
import type { RevokedTargets } from '@countersign/core/contract'
import { resolveUser } from '../../../actions/resolve-user.ts'
import { revokeTargets as revoke } from '../../../actions/revoke-targets.ts'
import type { Deps } from '../../../deps.ts'
import type { Route, RouteRequest } from '../../../route.ts'
import type { RevokedAll } from '../../../store/operations/bulk-revocations.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireOwnPath, requireSiteInPath } from '../../shared/site-access.ts'
import { withPropagation } from '../../shared/with-propagation.ts'

type Result = RevokedTargets['results'][number]
type Target = RouteRequest<'revoke_targets'>['body']['targets'][number]

/** A target under the ids that the log has for it. */
type ResolvedTarget =
  | { readonly type: 'user'; readonly ids: readonly Ppid[] }
  | { readonly type: 'credential'; readonly ids: readonly CredentialId[] }
  | { readonly type: 'token'; readonly ids: readonly string[] }

export const revokeTargets: Route<'revoke_targets'> = async (request, deps) => {
  const siteId = request.params.site_id
  requireOwnPath(request.caller, siteId)
  // The wait for verifiers is not part of it: it may take long.
  const { targets, context, done } = await deps.bulkRevocations.run(siteId, () =>
    resolveAndRevoke(request, deps),
  )
  const results = targets.map((target) => toResult(target, done))
  const last = Math.max(0, ...results.map(({ seq }) => seq ?? 0))
  const seq = last > 0 ? last : (deps.views.view(siteId)?.head.seq ?? 0)
  const count = (outcome: Result['outcome']) => results.filter((each) => each.outcome === outcome).length
  const { epoch } = deps.store
  const body: RevokedTargets = {
    success: true,
    site_id: siteId,
    results,
    revoked: count('revoked'),
    already_revoked: count('already_revoked'),
    not_found: count('not_found'),
    tokens_revoked: countTokens(done),
    revoked_at: formatTime(context.atMs),
    epoch,
    seq,
  }
  return withPropagation(request, deps, siteId, { epoch, seq, atMs: context.atMs }, body)
}

async function resolveAndRevoke(request: RouteRequest<'revoke_targets'>, deps: Deps) {
  const { body, caller } = request
  // It may have waited for another one.
  await request.confirmCaller()
  // The pipeline has counted the request as one.
  const { monotonicMs } = deps.clock.clocks()
  deps.rateLimiter.record('key', requireKeyId(caller), monotonicMs, body.targets.length - 1)
  const { siteId } = await requireSiteInPath(request, deps)
  const targets: ResolvedTarget[] = []
  for (const target of body.targets) targets.push(await resolveTarget(deps, siteId, target))
  const context = auditContext(request, deps)
  const order = {
    siteId,
    ppids: listIds(targets, (each) => (each.type === 'user' ? each.ids : [])),
    credentialIds: listIds(targets, (each) => (each.type === 'credential' ? each.ids : [])),
    jtis: listIds(targets, (each) => (each.type === 'token' ? each.ids : [])),
    reason: body.reason,
  }
  return { targets, context, done: await revoke(deps, order, context) }
}

async function resolveTarget(deps: Deps, siteId: SiteId, target: Target): Promise<ResolvedTarget> {
  const { credential_id, token_id, ...user } = target
  if (credential_id !== undefined) return { type: 'credential', ids: [credential_id] }
  if (token_id !== undefined) return { type: 'token', ids: [token_id] }
  return { type: 'user', ids: await resolveUser(deps, siteId, user) }
}

/** Each id once: two targets may name the same user. */
function listIds<Id extends string>(
  targets: readonly ResolvedTarget[],
  findIds: (target: ResolvedTarget) => readonly Id[],
): readonly Id[] {
  return [...new Set(targets.flatMap(findIds))]
}

/** A user with several ids is revoked by this request if one of them is. */
function toResult({ type, ids }: ResolvedTarget, { users, credentials, tokens }: RevokedAll): Result {
  const names: readonly string[] = ids
  const found =
    type === 'user'
      ? users.filter(({ ppid }) => names.includes(ppid))
      : type === 'credential'
        ? credentials.filter(({ credentialId }) => names.includes(credentialId))
        : tokens.flatMap(({ jti, revocation }) =>
            names.includes(jti) && revocation !== undefined
              ? [{ alreadyRevoked: revocation.alreadyRevoked, seq: revocation.entry?.seq }]
              : [],
          )
  const seqs = found.flatMap(({ seq }) => seq ?? [])
  return {
    type,
    ids: [...names],
    outcome:
      found.length === 0
        ? 'not_found'
        : found.every(({ alreadyRevoked }) => alreadyRevoked)
          ? 'already_revoked'
          : 'revoked',
    seq: seqs.length === 0 ? null : Math.max(...seqs),
  }
}

/** Of what was revoked before, the tokens had ended before, too. */
function countTokens({ users, credentials, tokens }: RevokedAll): number {
  const ended = [...users, ...credentials].filter(({ alreadyRevoked }) => !alreadyRevoked)
  const named = tokens.filter(({ revocation }) => revocation?.alreadyRevoked === false)
  return ended.reduce((sum, { tokensRevoked }) => sum + tokensRevoked, named.length)
}
