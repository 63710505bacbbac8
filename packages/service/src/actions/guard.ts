import {
  type Allow,
  createSiteView,
  type Denial,
  decide,
  findBearerMistake,
  type HolderRequest,
  type Presentation,
  type Presented,
  type RevocationData,
  type Scope,
  type SiteId,
  type TokenFacts,
} from '@countersign/core'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import { whenKnown } from '../when-known.ts'

export type GuardDeps = Pick<Deps, 'views' | 'clock' | 'signatures' | 'nonces' | 'tokens' | 'meters'>

/** What a caller presents, and what for. */
export interface Passage {
  readonly presented: Presentation | Exclude<Presented, { readonly token: TokenFacts }>
  readonly siteId: SiteId
  readonly scope: readonly Scope[]
  /** The request as the client signed it. Without it no holder-bound credential passes. */
  readonly request: HolderRequest | undefined
}

/**
 * The one guard of everything that takes a credential or a bearer token. Accepts or throws a
 * Problem with the code of the refusal; a store that cannot be asked for a token or a nonce throws
 * too. An accepted caller is not revoked in this node's view when this returns: the core asks again
 * after whatever it had to wait for.
 */
export function guard(deps: GuardDeps, passage: Passage): Allow | Promise<Allow> {
  const { presented } = passage
  if (!('bearer' in presented)) return pass(deps, passage, presented)
  return whenKnown(deps.tokens.find(presented.bearer), (token) =>
    pass(
      deps,
      passage,
      { token: token ?? NO_TOKEN },
      token === undefined ? findBearerMistake(presented.bearer) : undefined,
    ),
  )
}

/** `mistake` says what was sent in the place of a token, if it is recognised. */
function pass(
  deps: GuardDeps,
  { siteId, scope, request }: Passage,
  shown: Presented,
  mistake?: string,
): Allow | Promise<Allow> {
  const knowledge = deps.views.knowledge(siteId, deps.signatures) ?? knowledgeOfNone(deps, siteId)
  const demand = {
    scope,
    nowMs: deps.clock.nowMs(),
    nonces: deps.nonces,
    ...(request === undefined ? {} : { request }),
  }
  return whenKnown(decide(shown, demand, knowledge), (verdict) => {
    if (deps.views.view(siteId) !== undefined) {
      // Sites that do not exist must not become labels: a caller could make them up.
      deps.meters.verdict(
        siteId,
        'token' in shown ? 'bearer' : 'credential',
        verdict.ok ? 'allowed' : verdict.code,
      )
    }
    if (!verdict.ok)
      throw problemOf(
        mistake !== undefined && verdict.code === 'token_invalid' ? { ...verdict, detail: mistake } : verdict,
      )
    return verdict
  })
}

/** A denial as the problem that its caller is told. */
export function problemOf({ code, detail, requiredScope }: Denial): Problem {
  return new Problem(code, detail, {
    ...(requiredScope === undefined ? {} : { requiredScope }),
    ...(code === 'revocation_view_stale' ? { retryAfterSeconds: 1 } : {}),
  })
}

/**
 * A site that does not exist is judged like one that trusts no issuer, so that the two look the
 * same.
 */
function knowledgeOfNone({ views }: GuardDeps, siteId: SiteId): RevocationData {
  const { ageMs, ageMsMax } = views.age()
  return { site: createSiteView({ siteId }), ageMs, ageMsMax }
}

/** The part of a verificationMethod that names the key. */
export function fragmentOf(verificationMethod: string): string {
  return verificationMethod.slice(verificationMethod.indexOf('#') + 1)
}

/**
 * Stands for every token that was never given out: of no site, expired, so it is rejected by the
 * same code and in the same words.
 */
const NO_TOKEN: TokenFacts = {
  tokenSha256: '',
  siteId: '' as SiteId,
  ppid: '' as TokenFacts['ppid'],
  scope: [],
  permissionId: '' as TokenFacts['permissionId'],
  credentialIds: [],
  issuer: '',
  issuerKey: '',
  signedAtMs: 0,
  oldestSignedAtMs: 0,
  issuedAtMs: 0,
  expiresAtMs: 0,
}
