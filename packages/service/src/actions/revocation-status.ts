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
  /** Undefined: each is looked for where it is known. */
  readonly siteId: SiteId | undefined
  /**
   * Whether the one who asks belongs to that site: then ids count that the site has revoked without
   * ever seeing them.
   */
  readonly isOwn: boolean
  /** Answer from a view of that site at least this new. */
  readonly min: { readonly epoch: string; readonly seq: number } | undefined
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
  /** The end of the log of the site asked for, when there is such a site. */
  readonly seq: number | undefined
  readonly states: ReadonlyMap<CredentialId, CredentialState>
}

/**
 * What this node would say of credentials now. The store knows which ones there are and why they
 * were revoked; whether they are revoked is judged by the very view that verifies, so that the two
 * cannot disagree. Throws a Problem when that view is too old.
 */
export async function revocationStatus(
  deps: Pick<Deps, 'store' | 'views' | 'clock'>,
  question: StatusQuestion,
): Promise<StatusAnswer> {
  const { store, views, clock } = deps
  const { credentialIds, siteId, min } = question
  if (min !== undefined && siteId !== undefined) await views.waitForSeq(siteId, min)
  const rows = firstKnown(await store.statuses(credentialIds, siteId))
  const isAhead = [...rows.values()].some(
    (row) => row.revocation !== undefined && findRowRevocation(deps, row) === undefined,
  )
  // The store was asked later than the view: let the view catch up.
  if (isAhead) await views.waitFor(await store.logPosition())

  requireFresh(views)
  const { asOfMs } = views.age()
  const nowMs = clock.nowMs()
  const states = new Map<CredentialId, CredentialState>()
  for (const id of credentialIds) {
    const row = rows.get(id)
    states.set(id, row === undefined ? unseen(deps, id, question) : credentialState(deps, row, nowMs))
  }
  return { epoch: store.epoch, asOfMs, seq: siteId && views.view(siteId)?.head.seq, states }
}

/**
 * Of several sites that know an id, the first to know it: no other site can then change what is
 * said of it.
 */
function firstKnown(rows: readonly CredentialRow[]): ReadonlyMap<CredentialId, CredentialRow> {
  const first = new Map<CredentialId, CredentialRow>()
  for (const row of rows) {
    const earlier = first.get(row.credentialId)
    if (earlier === undefined || row.knownAtMs < earlier.knownAtMs) first.set(row.credentialId, row)
  }
  return first
}

function findRowRevocation(
  { views }: Pick<Deps, 'views'>,
  { siteId, ppid, chain }: CredentialRow,
): Revocation | undefined {
  const view = views.view(siteId)
  return view && findRevocation({ ppid, ...toChainGrounds(chain) }, view)
}

/**
 * What is to be said of a credential that is known: by the view that verifies, with the reason that
 * the store keeps.
 */
export function credentialState(
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
 * It was never presented here, yet its own site may have revoked it. Others are not told: a site
 * that merely names an id knows nothing of it.
 */
function unseen(
  { views }: Pick<Deps, 'views'>,
  id: CredentialId,
  { siteId, isOwn }: StatusQuestion,
): CredentialState {
  const revocation = isOwn && siteId !== undefined ? views.view(siteId)?.credentialRevocation(id) : undefined
  return revocation === undefined
    ? { status: 'unknown' }
    : { status: 'revoked', sinceMs: revocation.sinceMs, type: 'credential', reason: undefined }
}
