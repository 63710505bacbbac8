import { type Deny, deny } from '../credential/denial.ts'
import type { Scope } from '../credential/ids.ts'
import type { Demand } from './demand.ts'
import { scopeFault, scopeWithin } from './scope.ts'
import type { TokenFacts } from './token.ts'
import type { SiteKnowledge } from './trust.ts'

/** Unknown, expired, revoked, of another site: a bearer learns only that the token will not do. */
const invalidToken = deny('token_invalid', 'this bearer token is not valid here; exchange the credential for a new one')

/**
 * Why the site accepts no bearer token at all, whichever it is. Where `holder_proof` is `required`, every request must be signed by the holder, and a
 * bearer token carries no such proof.
 */
export function findBearerFault({ settings }: Pick<SiteKnowledge, 'settings'>): Deny | undefined {
  return settings.holderProof === 'required' ? proofRequired : undefined
}

const proofRequired = deny(
  'proof_required',
  'this site requires a signature of every request by the holder key, which a bearer token does not have; send the credential itself and sign the request',
)

/** What a token still gives at this moment, or why it gives nothing. It dies with its credential, chain, user, issuer, key and site setting. */
export function tokenScope(token: TokenFacts, demand: Demand, site: SiteKnowledge): readonly Scope[] | Deny {
  const fault = findBearerFault(site)
  if (fault !== undefined) return fault
  if (token.siteId !== site.siteId || !(demand.nowMs < token.expiresAtMs)) return invalidToken
  const issuer = site.issuer(token.issuer)
  const key = issuer?.keys.get(token.issuerKey)
  if (issuer === undefined || key === undefined || key.status === 'compromised') return invalidToken
  if (key.status === 'retired' && !(token.rootCreatedMs <= (key.changedAtMs ?? Number.NEGATIVE_INFINITY))) return invalidToken
  if (isRevoked(token, site)) return invalidToken
  if (site.settings.bearer !== 'on') return deny('bearer_disabled', 'this site takes no bearer tokens any more; send the credential itself')
  const { bearerOffMs } = site.settings
  if (bearerOffMs !== undefined && !(token.issuedAtMs > bearerOffMs)) return invalidToken
  const scope = scopeWithin(token.scope, issuer.scope)
  return scopeFault(scope, demand) ?? scope
}

function isRevoked({ tokenSha256, credentialChain, ppid, oldestCreatedMs }: TokenFacts, site: SiteKnowledge): boolean {
  return (
    site.tokenRevocation(tokenSha256) !== undefined ||
    // What counts is the credential behind it: a token made after a reinstatement from one made before is as dead as that.
    site.userRevocation(ppid, oldestCreatedMs) !== undefined ||
    credentialChain.some((id) => site.credentialRevocation(id) !== undefined)
  )
}
