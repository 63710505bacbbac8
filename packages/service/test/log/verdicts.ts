import { checkGrounds, type Grounds, type SiteId, type SiteView } from '@countersign/core'

/** Access that a client may claim: by a credential, a chain, a session or a bearer token. */
export interface Claim {
  readonly siteId: SiteId
  readonly grounds: Grounds
  /** Of a bearer token. */
  readonly tokenSha256?: string
}

type FindView = (siteId: SiteId) => SiteView | undefined

/** `allowed`, or the code of the denial, in the order in which a verification finds it. */
function judge(findView: FindView, { siteId, grounds, tokenSha256 }: Claim, nowMs: number): string {
  const view = findView(siteId)
  if (view === undefined) return 'no such site'
  const denial = checkGrounds(grounds, view, nowMs)
  if (denial !== undefined) return denial.code
  const isRevoked = tokenSha256 !== undefined && view.tokenRevocation(tokenSha256) !== undefined
  return isRevoked ? 'token revoked' : 'allowed'
}

/** The verdicts about all claims at all these times, to be compared with those of another view. */
export function judgeAll(
  findView: FindView,
  claims: readonly Claim[],
  times: readonly number[],
): readonly string[] {
  return claims.flatMap((claim) => times.map((nowMs) => judge(findView, claim, nowMs)))
}

/** How often each verdict occurs: a comparison that only sees one verdict proves nothing. */
export function countVerdicts(verdicts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const verdict of verdicts) counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
  return counts
}

/** Numbers from 0 to below 1, the same for the same seed. */
export function createPicks(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
