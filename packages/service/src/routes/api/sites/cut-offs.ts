import { formatTime, type SiteId, toHolderThumbprint } from '@countersign/core'
import { cutOff, revokeHolder as revoke } from '../../../actions/cut-off.ts'
import { checkHolderKey } from '../../../actions/issue-for-user.ts'
import type { Deps } from '../../../deps.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { answerCutOff } from '../../shared/answer-cut-off.ts'
import { auditContext } from '../../shared/audit-context.ts'

export const revokeHolder: Route<'revoke_holder'> = async (request, deps) => {
  const { params, body } = request
  const thumbprint = body.thumbprint ?? (await loadThumbprint(body.holder_key ?? ''))
  await requireSite(deps, params.site_id)
  const context = auditContext(request, deps)
  const done = await revoke(deps, params.site_id, thumbprint, body.reason, context)
  return answerCutOff(request, deps, params.site_id, 'holder.revoked', thumbprint, done)
}

export const cutOffIssuer: Route<'cut_off_issuer'> = async (request, deps) => {
  const { site_id: siteId } = request.params
  const { issuer, reason } = request.body
  await requireSite(deps, siteId)
  if (!(await isIssuerOfSite(deps, siteId, issuer))) {
    throw new Problem('validation_failed', 'The site has no such issuer. Check the issuer.', {
      errors: [{ path: 'issuer', message: 'is not an issuer of this site' }],
    })
  }
  const context = auditContext(request, deps)
  const body = { issuer, before: formatTime(context.atMs) }
  const done = await cutOff(deps, { siteId, kind: 'issuer.cut_off', body, target: issuer, reason }, context)
  return answerCutOff(request, deps, siteId, 'issuer.cut_off', issuer, done)
}

export const cutOffSite: Route<'cut_off_site'> = async (request, deps) => {
  const { site_id: siteId } = request.params
  const { confirm, reason } = request.body
  if (confirm !== siteId) {
    throw new Problem(
      'validation_failed',
      'The site_id in confirm differs from that of the path. Send the same in both.',
      {
        errors: [{ path: 'confirm', message: 'must be the site_id of the path' }],
      },
    )
  }
  await requireSite(deps, siteId)
  const context = auditContext(request, deps)
  const body = { before: formatTime(context.atMs) }
  const done = await cutOff(deps, { siteId, kind: 'site.cut_off', body, target: siteId, reason }, context)
  return answerCutOff(request, deps, siteId, 'site.cut_off', siteId, done)
}

/** Also one that the site distrusts: a cut-off outlasts that it is trusted again. */
async function isIssuerOfSite({ store, views }: Deps, siteId: SiteId, issuer: string): Promise<boolean> {
  if (views.view(siteId)?.oauthIssuers.rows.has(issuer) === true) return true
  return (await store.issuer(siteId, issuer)) !== undefined
}

async function loadThumbprint(holderKey: string): Promise<string> {
  checkHolderKey(holderKey)
  const thumbprint = await toHolderThumbprint(holderKey)
  if (thumbprint === undefined) throw new Problem('key_rejected')
  return thumbprint
}

/** Throws `not_found` for a site that does not exist. */
async function requireSite({ views, store }: Deps, siteId: SiteId): Promise<void> {
  const isKnown = views.view(siteId) !== undefined || (await store.site(siteId)) !== undefined
  if (!isKnown) throw new Problem('not_found')
}
