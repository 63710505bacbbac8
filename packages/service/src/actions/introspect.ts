import {
  type Denial,
  decide,
  findActiveJwt,
  isDenial,
  isJwtForm,
  type RevocationData,
  type Scope,
  type SiteId,
  type VerifiedJwt,
} from '@countersign/core'
import { denialToProblem } from '../access/guard.ts'
import { requireFresh, staleProblem } from '../access/require-fresh.ts'
import type { FoundToken } from '../access/token-finder.ts'
import type { Deps } from '../deps.ts'

type IntrospectDeps = Pick<Deps, 'tokens' | 'views' | 'clock' | 'signatures'>

/** A token of this service, or an access token of an OAuth issuer. */
export type ActiveToken =
  | {
      readonly token: FoundToken
      /** The part of the token's scope that is still granted. */
      readonly scope: readonly Scope[]
    }
  | { readonly jwt: VerifiedJwt; readonly siteId: SiteId }

/**
 * The token, if its site would accept it now; otherwise undefined. With `siteId`, tokens of other
 * sites are not active; an access token of an OAuth issuer is active only with one. Throws when
 * this node's revocation data is stale: then it must not answer "not active". For a token of this
 * service a promise only where the store is asked.
 */
export function introspect(
  deps: IntrospectDeps,
  text: string,
  siteId: SiteId | undefined,
): ActiveToken | undefined | Promise<ActiveToken | undefined> {
  requireFresh(deps.views)
  if (isJwtForm(text)) return siteId === undefined ? undefined : introspectJwt(deps, text, siteId)
  const token = deps.tokens.find(text)
  return token instanceof Promise
    ? token.then((later) => introspectToken(deps, later, siteId))
    : introspectToken(deps, token, siteId)
}

function introspectToken(
  { views, clock }: IntrospectDeps,
  token: FoundToken | undefined,
  siteId: SiteId | undefined,
): ActiveToken | undefined {
  if (token === undefined || (siteId !== undefined && token.siteId !== siteId)) return undefined
  const data = views.revocationData(token.siteId)
  // The token exists, so its site does; this node's view does not have it yet.
  if (data === undefined) throw staleProblem()
  const verdict = decide({ token }, { scope: [], nowMs: clock.nowMs() }, data)
  return verdict.ok ? { token, scope: verdict.subject.scope } : inactive(verdict)
}

async function introspectJwt(
  { views, clock, signatures }: IntrospectDeps,
  text: string,
  siteId: SiteId,
): Promise<ActiveToken | undefined> {
  const data = views.revocationData(siteId, signatures)
  if (data === undefined) return undefined
  const jwt = await findActiveJwt(text, { scope: [], nowMs: clock.nowMs() }, data)
  if (isDenial(jwt)) return inactive(jwt)
  return isAcceptable(jwt, data) ? { jwt, siteId } : undefined
}

/** A site that requires holder proofs accepts only tokens that are bound to a key. */
function isAcceptable({ facts }: VerifiedJwt, { site }: RevocationData): boolean {
  return site.settings.holderProof !== 'required' || facts.holderThumbprint !== undefined
}

function inactive(denial: Denial): undefined {
  if (denial.code === 'revocation_view_stale') throw denialToProblem(denial)
}
