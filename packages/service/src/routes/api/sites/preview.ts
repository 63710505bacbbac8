import type { Ppid, SiteId } from '@countersign/core'
import { limits, type Preview, previewNotEnded } from '@countersign/core/contract'
import { requireFresh } from '../../../access/require-fresh.ts'
import { countEndedOffers, countEndedSignIns, findEnded } from '../../../actions/preview/count-ended.ts'
import { applyEffect } from '../../../actions/preview/effect.ts'
import { resolveAct } from '../../../actions/preview/resolve-act.ts'
import { waitForVerifiers } from '../../../actions/propagation.ts'
import type { RouteAnswer } from '../../../answer.ts'
import type { Deps } from '../../../deps.ts'
import { loadCurrentView } from '../../../log/load-current-view.ts'
import type { Route, RouteRequest } from '../../../route.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

/** Reads only, a page at a time, and few at a time, so that no revocation waits for it. */
export const preview: Route<'preview'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const end = deps.previews.begin(requireKeyId(request.caller), siteId)
  try {
    return await answerPreview(request, deps, siteId)
  } finally {
    end()
  }
}

async function answerPreview(
  request: RouteRequest<'preview'>,
  deps: Deps,
  siteId: SiteId,
): Promise<RouteAnswer> {
  const { store, clock } = deps
  const effect = await resolveAct(deps, siteId, request.body.act, request.caller)
  const view = await loadCurrentView(deps, siteId)
  requireFresh(deps.views)
  const nowMs = clock.nowMs()
  const states = { before: view, after: applyEffect(view, effect, nowMs) }
  const { credentials, tokens } = await findEnded(deps, siteId, effect, states, nowMs)
  const named: readonly Ppid[] = [...(effect.users ?? []), ...(effect.signedOut ?? [])]
  const users = new Set([...named, ...[...credentials.rows, ...tokens.rows].map(({ ppid }) => ppid)])
  const offers = await countEndedOffers(deps, siteId, effect, states, nowMs)
  const signIns = await countEndedSignIns(deps, siteId, effect, states, nowMs)
  const verifiers = await countVerifiers(deps, siteId, effect.deletedKeyId)
  const webhooks = await store.webhooks(siteId, { after: undefined, limit: limits.webhooks_per_site_max })
  const { epoch, seq } = view.head
  const receipt = await waitForVerifiers(
    deps,
    siteId,
    { epoch, seq, atMs: nowMs },
    { ms: 0, until: 'acknowledged' },
  )
  requireFresh(deps.views)
  const first = <Item>(items: readonly Item[]) => items.slice(0, limits.preview_samples_max)
  const body: Preview = {
    site_id: siteId,
    users: { count: users.size, complete: credentials.complete && tokens.complete },
    credentials: { count: credentials.rows.length, complete: credentials.complete },
    bound_credentials: credentials.rows.filter(({ holderBound }) => holderBound).length,
    delegated_credentials: credentials.rows.filter(({ chain }) => chain.length > 1).length,
    tokens: { count: tokens.rows.length, complete: tokens.complete },
    offers,
    sign_ins: signIns,
    verifiers,
    not_ended: effect.deletedKeyId === undefined ? [] : [...previewNotEnded],
    samples: {
      users: first([...users]),
      credentials: first(credentials.rows.map(({ credentialId }) => credentialId)),
      tokens: first(tokens.rows.map(({ jti }) => jti)),
    },
    webhooks: webhooks
      .filter(
        ({ status, kinds }) => status === 'on' && effect.kinds.some((kind) => kinds?.includes(kind) ?? true),
      )
      .map(({ webhookId }) => webhookId),
    lagging_verifiers: first((receipt?.pending ?? []).map(({ verifierId }) => verifierId)),
    irreversible: effect.isIrreversible,
    ends_own_access: effect.endsOwnAccess ?? false,
    epoch,
    seq,
  }
  return { status: 200, body }
}

/** The connected verifiers of an API key, on all nodes. */
async function countVerifiers(
  { verifiers }: Pick<Deps, 'verifiers'>,
  siteId: SiteId,
  keyId: string | undefined,
): Promise<number> {
  if (keyId === undefined) return 0
  const { leases, streams } = await verifiers.connected(siteId)
  const isOwn = (reader: { readonly keyId: string }) => reader.keyId === keyId
  return leases.filter((lease) => isOwn(lease) && lease.nodeId !== '').length + streams.filter(isOwn).length
}
