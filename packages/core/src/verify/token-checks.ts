import { type Denial, deny } from '../credential/denial.ts'
import type { Scope } from '../credential/ids.ts'
import type { Demand } from './demand.ts'
import { checkGrounds } from './grounds.ts'
import { checkScopeGranted, limitScope } from './scope.ts'
import type { TokenFacts } from './token.ts'
import type { SiteData } from './trust.ts'

/**
 * One answer for unknown, expired and revoked tokens and those of another site: the caller learns
 * only that the token is invalid.
 */
const invalidToken = deny(
  'token_invalid',
  'This bearer token is not valid here. Exchange the credential for a new one.',
)

/**
 * Why the site accepts no bearer token at all, whichever it is. Where `holder_proof` is `required`,
 * every request must be signed by the holder, and a bearer token carries no such proof.
 */
export function findBearerFault({ settings }: Pick<SiteData, 'settings'>): Denial | undefined {
  return settings.holderProof === 'required' ? proofRequired : undefined
}

const proofRequired = deny(
  'proof_required',
  'This site requires a holder proof with every request, which a bearer token does not have. Send the credential itself and sign the request.',
)

/**
 * The scope that a token grants now, or why it is denied. It ends with its credential, chain, user,
 * issuer, key or site setting.
 */
export function findTokenScope(token: TokenFacts, demand: Demand, site: SiteData): readonly Scope[] | Denial {
  const fault = findBearerFault(site)
  if (fault !== undefined) return fault
  if (token.siteId !== site.siteId || site.tokenRevocation(token.tokenSha256) !== undefined)
    return invalidToken
  if (checkGrounds(token, site, demand.nowMs) !== undefined) return invalidToken
  const { bearer, bearerOffMs } = site.settings
  if (bearer !== 'on')
    return deny('bearer_disabled', 'This site does not accept bearer tokens. Send the credential itself.')
  if (bearerOffMs !== undefined && !(token.issuedAtMs > bearerOffMs)) return invalidToken
  const scope = limitScope(token.scope, site.issuer(token.issuer)?.scope)
  return checkScopeGranted(scope, demand) ?? scope
}
