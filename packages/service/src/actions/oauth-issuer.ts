import { isOAuthIssuer, type JwtKey, OAUTH_ISSUER_DEFAULTS, type Scope, type SiteId } from '@countersign/core'
import {
  type AddOAuthIssuerRequest,
  isLoopback,
  limits,
  needsClaims,
  rejectsIdTokens,
  type SignalSender,
} from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { nextOAuthKeys, type OAuthKey, readKeySet } from '../keys/oauth-keys.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import { Problem } from '../problem.ts'
import type { Issuer, IssuerChanges, OAuthSettings } from '../store/operations/issuers.ts'
import { existsAlready, tooManyIssuers } from './add-issuer.ts'
import type { WaitingCaller } from './waiting-caller.ts'

/** What callers can set for an OAuth issuer, as they send it. */
type OAuthMembers = Omit<
  AddOAuthIssuerRequest,
  'type' | 'issuer' | 'audience' | 'scope' | 'label' | 'reason'
> & {
  readonly audience?: string[] | undefined
}

/** The members of a change. */
export type OAuthChanges = OAuthMembers & { readonly confirm_new_ids?: true | undefined }

export interface OAuthIssuerOrder {
  readonly siteId: SiteId
  readonly issuer: string
  readonly scope: readonly Scope[] | undefined
  readonly label: string | undefined
  readonly members: OAuthMembers
}

type OAuthDeps = Pick<Deps, 'store' | 'views' | 'keySets' | 'config' | 'log'>

const { type: _type, scope: _scope, ...STATE_DEFAULTS } = OAUTH_ISSUER_DEFAULTS
const DEFAULTS: Omit<OAuthSettings, 'audience'> = {
  ...STATE_DEFAULTS,
  session_ttl_seconds_max: limits.session_ttl_seconds_max,
  key_source: 'discovery',
  jwks_uri: null,
  signals: [],
}

/**
 * Makes a site trust an OAuth issuer. When a key is rejected, or none can be loaded, nothing is
 * stored. When this returns, this node accepts access tokens of the issuer. Throws `not_found` when
 * there is no such site, and as `confirm` does when the access of the caller has ended meanwhile.
 */
export async function addOAuthIssuer(
  deps: OAuthDeps,
  { siteId, issuer, scope, label, members }: OAuthIssuerOrder,
  caller: WaitingCaller,
): Promise<Issuer> {
  requireSecureUrl(deps, issuer, 'issuer')
  if ((await deps.store.site(siteId)) === undefined) throw new Problem('not_found')
  if ((await deps.store.issuer(siteId, issuer)) !== undefined) throw existsAlready()
  const oauth = await toSettings(deps, { ...DEFAULTS, audience: [] }, members)
  const keys = await loadOAuthKeys(deps, { siteId, issuer, oauth }, members.jwks, caller)
  const context = await caller.confirm()
  const added = await deps.store.addIssuer(
    {
      siteId,
      issuer,
      keys: nextOAuthKeys([], keys),
      scope,
      credentialTtlSecondsMax: undefined,
      label,
      fetched: oauth.key_source !== 'jwks',
      oauth,
    },
    context,
    limits.issuers_per_site_max,
    deps.views.lastEntryAbout(siteId, issuer),
  )
  if (added === 'exists') throw existsAlready()
  if (added === 'too_many') throw tooManyIssuers()
  await waitForLocalView(deps, added)
  return added
}

/**
 * The changes of an OAuth issuer, validated together with what stays as it is. Trusting it again
 * fetches its keys first.
 */
export async function resolveOAuthChanges(
  deps: OAuthDeps,
  before: Issuer & { readonly oauth: OAuthSettings },
  { confirm_new_ids: isConfirmed, ...members }: OAuthChanges,
  status: Issuer['status'] | undefined,
  caller: Pick<WaitingCaller, 'releaseWhile'>,
): Promise<Pick<IssuerChanges, 'keys' | 'fetched' | 'oauth'>> {
  if (!isConfirmed) requireSameIds(before.oauth, members)
  const isTrustedAgain = before.fetched && before.status === 'distrusted' && status === 'trusted'
  if (Object.keys(members).length === 0 && !isTrustedAgain) return {}
  const oauth = await toSettings(deps, before.oauth, members)
  const fetched = oauth.key_source !== 'jwks'
  const hasNewKeys = members.jwks !== undefined || members.jwks_uri !== undefined || isTrustedAgain
  if (!hasNewKeys) return { oauth, fetched }
  const keys = await loadOAuthKeys(deps, { ...before, oauth }, members.jwks, caller)
  return { oauth, fetched, keys: nextOAuthKeys(before.keys, keys) }
}

const ID_MEMBERS = ['subject_claim', 'user_ref_from_subject', 'session_claim'] as const

/**
 * The ids of users and sessions depend on these members, and revocations name ids. So after a
 * change, revoked users would have access again. A first `session_claim` changes no id.
 */
function requireSameIds(before: OAuthSettings, members: OAuthMembers): void {
  const changed = ID_MEMBERS.filter(
    (name) => members[name] !== undefined && before[name] !== null && members[name] !== before[name],
  )
  if (changed.length === 0) return
  throw new Problem(
    'validation_failed',
    `A change of ${changed.join(', ')} gives other ids, so revoked users or sessions would have access again. Send confirm_new_ids: true, and then revoke them again.`,
    { errors: changed.map((path) => ({ path, message: 'needs confirm_new_ids: true' })) },
  )
}

/** Throws `validation_failed` for members that are invalid together. */
async function toSettings(
  deps: OAuthDeps,
  before: OAuthSettings,
  { jwks, jwks_uri, signals, ...given }: OAuthMembers,
): Promise<OAuthSettings> {
  if (jwks_uri !== undefined) requireSecureUrl(deps, jwks_uri, 'jwks_uri')
  const source: Pick<OAuthSettings, 'key_source' | 'jwks_uri'> | undefined =
    jwks !== undefined
      ? { key_source: 'jwks', jwks_uri: null }
      : jwks_uri === undefined
        ? undefined
        : { key_source: 'jwks_uri', jwks_uri }
  const settings = { ...before, ...given, ...source } as OAuthSettings
  if (!rejectsIdTokens(settings))
    throw new Problem(
      'validation_failed',
      `The issuer would accept ID tokens: require_at_jwt ${needsClaims()}.`,
      {
        errors: [{ path: 'require_at_jwt', message: needsClaims() }],
      },
    )
  if (signals === undefined) return settings
  return { ...settings, signals: await Promise.all(signals.map((sender, i) => toSender(deps, sender, i))) }
}

/** Stores only the public members of the keys. */
async function toSender(deps: OAuthDeps, sender: SignalSender, index: number): Promise<SignalSender> {
  const path = `signals.${index}`
  requireSecureUrl(deps, sender.issuer, `${path}.issuer`)
  if (sender.jwks_uri !== undefined) requireSecureUrl(deps, sender.jwks_uri, `${path}.jwks_uri`)
  if (sender.jwks === undefined) return sender
  const keys = await requireKeys(sender.jwks, `${path}.jwks`)
  return { ...sender, jwks: { keys: keys.map(({ kid, key }) => toPublicJwk(kid, key)) } }
}

function toPublicJwk(kid: string | null, { algorithm, jwk }: JwtKey): Record<string, unknown> {
  return { ...(kid !== null && { kid }), alg: algorithm, ...jwk }
}

async function loadOAuthKeys(
  { keySets, log }: Pick<Deps, 'keySets' | 'log'>,
  { siteId, issuer, oauth }: Pick<Issuer, 'siteId' | 'issuer'> & { readonly oauth: OAuthSettings },
  jwks: OAuthMembers['jwks'],
  { releaseWhile }: Pick<WaitingCaller, 'releaseWhile'>,
): Promise<readonly OAuthKey[]> {
  if (jwks !== undefined) return requireKeys(jwks, 'jwks')
  const fetched = await releaseWhile(keySets.fetch({ issuer, jwksUri: oauth.jwks_uri }, siteId))
  const path = oauth.jwks_uri === null ? 'issuer' : 'jwks_uri'
  const fault =
    'fault' in fetched
      ? fetched.fault
      : fetched.keys.length === 0
        ? (fetched.leftOut[0]?.why ?? 'the key set has no key for signatures')
        : undefined
  if (!('fault' in fetched) && fault === undefined) return fetched.keys
  const cause = 'fault' in fetched ? fetched.cause : undefined
  log.info({ issuer, err: cause, fault }, 'a key set was not accepted')
  throw new Problem(
    'key_rejected',
    `The keys of the issuer cannot be loaded: ${fault}. Nothing was stored.`,
    {
      cause,
      errors: [{ path, message: fault ?? '' }],
    },
  )
}

/** Throws `key_rejected` with the index of the first key that is not accepted. */
async function requireKeys(set: unknown, path: string): Promise<readonly OAuthKey[]> {
  const read = await readKeySet(set)
  if ('fault' in read) throw rejectedKeys(read.fault, path, read.at)
  const [unfit] = read.leftOut
  if (unfit !== undefined) throw rejectedKeys(unfit.why, path, unfit.at)
  if (read.keys.length === 0) throw rejectedKeys('the key set has no key for signatures', path, undefined)
  return read.keys
}

function rejectedKeys(fault: string, path: string, at: number | undefined): Problem {
  return new Problem('key_rejected', `The keys are not accepted: ${fault}. Nothing was stored.`, {
    errors: [{ path: at === undefined ? path : `${path}.keys.${at}`, message: fault }],
  })
}

/** As for `did:web`: plain http only on this machine, and only in development. */
function requireSecureUrl({ config }: Pick<Deps, 'config'>, text: string, path: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isHere = url !== undefined && isLoopback(url)
  const isAllowed =
    url !== undefined &&
    (path.endsWith('jwks_uri') || isOAuthIssuer(text)) &&
    (isHere ? config.mode === 'development' : url.protocol === 'https:')
  if (isAllowed) return
  const message = 'must be an https URL of another machine'
  throw new Problem('validation_failed', `The URL in ${path} is invalid: it ${message}.`, {
    errors: [{ path, message }],
  })
}
