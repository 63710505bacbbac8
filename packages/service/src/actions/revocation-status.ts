import {
  type CredentialId,
  findRevocation,
  type Revocation,
  type SiteId,
  toChainGrounds,
} from '@countersign/core'
import { requireFresh } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import type { CredentialRow } from '../store/operations/credentials.ts'

export interface StatusQuestion {
  readonly credentialIds: readonly CredentialId[]
  /** Undefined: each id is looked up at the site that knows it. */
  readonly siteId: SiteId | undefined
  /**
   * Whether the caller belongs to that site: then the answer includes ids that the site has revoked
   * before they were presented.
   */
  readonly isOwn: boolean
}

export type CredentialState =
  | { readonly status: 'active' | 'expired' | 'unknown' }
  | {
      readonly status: 'revoked'
      readonly sinceMs: number
      readonly type: 'user' | 'credential'
      readonly reason: string | undefined
    }

export interface StatusAnswer {
  readonly epoch: string
  readonly asOfMs: number
  /** The head of the log of that site, if the site exists. */
  readonly seq: number | undefined
  readonly states: ReadonlyMap<CredentialId, CredentialState>
}

/**
 * The status of credentials now. The store knows which ones exist and why they were revoked. The
 * view decides whether they are revoked, as it does for verification, so that the two cannot
 * disagree. Throws a Problem when the view is stale.
 */
export async function revocationStatus(
  deps: Pick<Deps, 'store' | 'views' | 'clock'>,
  question: StatusQuestion,
): Promise<StatusAnswer> {
  const { store, views, clock } = deps
  const { credentialIds, siteId } = question
  const rows = toFirstKnown(await store.statuses(credentialIds, siteId))
  const isAhead = [...rows.values()].some(
    (row) => row.revocation !== undefined && findRowRevocation(deps, row) === undefined,
  )
  // The store may be ahead of the view, which has to catch up.
  if (isAhead) await views.waitFor(await store.logPosition())

  requireFresh(views)
  const { asOfMs } = views.age()
  const nowMs = clock.nowMs()
  const states = new Map<CredentialId, CredentialState>()
  for (const id of credentialIds) {
    const row = rows.get(id)
    states.set(id, row === undefined ? findUnseen(deps, id, question) : toCredentialState(deps, row, nowMs))
  }
  return { epoch: store.epoch, asOfMs, seq: siteId && views.view(siteId)?.head.seq, states }
}

/**
 * Of several sites that know an id, the first one, so that no other site can change its status.
 */
function toFirstKnown(rows: readonly CredentialRow[]): ReadonlyMap<CredentialId, CredentialRow> {
  const first = new Map<CredentialId, CredentialRow>()
  for (const row of rows) {
    const earlier = first.get(row.credentialId)
    if (earlier === undefined || row.knownAtMs < earlier.knownAtMs) first.set(row.credentialId, row)
  }
  return first
}

function findRowRevocation(
  { views }: Pick<Deps, 'views'>,
  { siteId, ppid, issuer, chain }: CredentialRow,
): Revocation | undefined {
  const view = views.view(siteId)
  return view && findRevocation({ ppid, issuer, ...toChainGrounds(chain) }, view)
}

/**
 * The status of a known credential: decided by the view, with the reason from the store.
 */
export function toCredentialState(
  deps: Pick<Deps, 'views'>,
  row: CredentialRow,
  nowMs: number,
): CredentialState {
  const revocation = findRowRevocation(deps, row)
  if (row.revocation !== undefined) {
    const { type, atMs, reason } = row.revocation
    return { status: 'revoked', sinceMs: atMs, type, reason }
  }
  if (revocation !== undefined) {
    return {
      status: 'revoked',
      sinceMs: revocation.sinceMs,
      type: revocation.by === 'user' ? 'user' : 'credential',
      reason: undefined,
    }
  }
  return { status: nowMs < row.validUntilMs ? 'active' : 'expired' }
}

/**
 * The credential was never presented here, but its site may have revoked it. Other sites do not
 * see that: naming an id proves nothing about it.
 */
function findUnseen(
  { views }: Pick<Deps, 'views'>,
  id: CredentialId,
  { siteId, isOwn }: StatusQuestion,
): CredentialState {
  const revocation = isOwn && siteId !== undefined ? views.view(siteId)?.credentialRevocation(id) : undefined
  return revocation === undefined
    ? { status: 'unknown' }
    : { status: 'revoked', sinceMs: revocation.sinceMs, type: 'credential', reason: undefined }
}
