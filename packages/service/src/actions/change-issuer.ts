import type { KeyState, KeyStatus, SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { nextKeyStates, readPinnedKeys } from '../keys/issuer-keys.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import { Problem } from '../problem.ts'
import { isIssuerId } from '../store/issuer-id.ts'
import type { Logged } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { ChangedIssuer, Issuer, IssuerChanges, OAuthSettings } from '../store/operations/issuers.ts'
import { fetchKeys, isDidWeb, requirePinnedKeys } from './add-issuer.ts'
import { type OAuthChanges, resolveOAuthChanges } from './oauth-issuer.ts'
import type { WaitingCaller } from './waiting-caller.ts'

export interface IssuerChange extends Omit<IssuerChanges, 'keys' | 'fetched' | 'oauth'> {
  /** The only keys from now on; none are fetched any more. */
  readonly pinned?: readonly string[]
  /** What only OAuth issuers have. */
  readonly oauth?: OAuthChanges
}

type IssuerDeps = Pick<Deps, 'store' | 'views' | 'didWeb' | 'keySets' | 'keys' | 'config' | 'log'>

/** With a wait for the host of the issuer each time, so few. */
const TRIES_MAX = 5

/**
 * Changes the given members. Trusting a `did:web` again fetches its document first. When another
 * request changes the issuer meanwhile, both changes are applied, this one last.
 * When this returns, this node decides by the new state. Throws `not_found` when the site does not
 * know the issuer, and as `confirm` does when the access of the caller has ended meanwhile.
 */
export async function changeIssuer(
  deps: IssuerDeps,
  siteId: SiteId,
  nameOrId: string,
  change: IssuerChange,
  caller: WaitingCaller,
): Promise<ChangedIssuer> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const changed = await tryChange(deps, siteId, nameOrId, change, caller)
    if (changed === 'outdated') continue
    await waitForLocalView(deps, changed)
    return changed
  }
  throw new Problem(
    'store_unavailable',
    'Other requests have changed the issuer meanwhile, several times. Nothing was changed. Try again.',
  )
}

/** `outdated`: another request has changed the issuer, and this one has changed nothing. */
async function tryChange(
  deps: IssuerDeps,
  siteId: SiteId,
  nameOrId: string,
  change: IssuerChange,
  caller: WaitingCaller,
): Promise<Logged<ChangedIssuer> | 'outdated'> {
  const before = await deps.store.issuer(siteId, nameOrId)
  if (before === undefined) throw new Problem('not_found')
  const { pinned, oauth, ...changes } = change
  requireMembersOfType(before, change)
  const all = {
    ...changes,
    ...(isOAuth(before)
      ? await resolveOAuthChanges(deps, before, oauth ?? {}, change.status, caller)
      : await resolveKeys(deps, before, change, caller)),
  }
  const context = await caller.confirm()
  const knownSeq = deps.views.lastEntryAbout(siteId, before.issuer)
  const changed = await deps.store.changeReadIssuer(before, all, context, knownSeq)
  if (changed === undefined) throw new Problem('not_found')
  return changed
}

function isOAuth(issuer: Issuer): issuer is Issuer & { readonly oauth: OAuthSettings } {
  return issuer.oauth !== undefined
}

/** Throws `validation_failed` for a member that only issuers of the other type have. */
function requireMembersOfType(before: Issuer, { pinned, credentialTtlSecondsMax, oauth = {} }: IssuerChange) {
  const others = isOAuth(before)
    ? [
        ...(pinned === undefined ? [] : ['keys']),
        ...(credentialTtlSecondsMax === undefined ? [] : ['credential_ttl_seconds_max']),
      ]
    : Object.keys(oauth)
  if (others.length === 0) return
  const message = isOAuth(before) ? 'is for issuers of credentials only' : 'is for OAuth issuers only'
  throw new Problem(
    'validation_failed',
    `The issuer cannot have these members: ${others.join(', ')}. Omit them.`,
    { errors: others.map((path) => ({ path, message })) },
  )
}

async function resolveKeys(
  deps: IssuerDeps,
  before: Issuer,
  { pinned, status }: IssuerChange,
  caller: WaitingCaller,
): Promise<Pick<IssuerChanges, 'keys' | 'fetched'>> {
  if (pinned !== undefined) {
    if (!isDidWeb(before.issuer))
      throw unfitKeys(
        'is allowed for did:web only',
        'Only the keys of a did:web issuer can be changed. Omit keys.',
      )
    if (before.issuer === deps.keys.issuerDid)
      throw unfitKeys(
        'are those of the service itself and follow its rotations',
        'The keys of the service itself follow its rotations. Omit keys.',
      )
    return {
      keys: toKeyStates(nextKeyStates(before.keys, requirePinnedKeys(readPinnedKeys(pinned, before.keys)))),
      fetched: false,
    }
  }
  if (before.fetched && before.status === 'distrusted' && status === 'trusted') {
    const fetched = await fetchKeys(deps, before.issuer, before.siteId, caller)
    return { keys: toKeyStates(nextKeyStates(before.keys, fetched)) }
  }
  return {}
}

/**
 * Retires or reactivates one key, or marks it as compromised. Throws `not_found` when there is none
 * of that name, `validation_failed` when it is compromised already.
 */
export async function changeIssuerKey(
  deps: Pick<Deps, 'store' | 'views'>,
  key: { readonly siteId: SiteId; readonly issuer: string; readonly keyId: string },
  status: KeyStatus,
  context: AuditContext,
): Promise<ChangedIssuer> {
  const found = isIssuerId(key.issuer) ? await deps.store.issuer(key.siteId, key.issuer) : key
  if (found === undefined) throw new Problem('not_found')
  const { issuer } = found
  const knownSeq = deps.views.lastEntryAbout(key.siteId, issuer)
  const changed = await deps.store.changeIssuerKey(key.siteId, issuer, key.keyId, status, context, knownSeq)
  if (changed === undefined) throw new Problem('not_found')
  if (changed !== 'final') {
    await waitForLocalView(deps, changed)
    return changed
  }
  const same = status === 'compromised' ? await deps.store.issuer(key.siteId, issuer) : undefined
  if (same !== undefined) return { ...same, entry: undefined }
  const message = 'a compromised key stays compromised'
  throw new Problem(
    'validation_failed',
    'A compromised key stays compromised. Let the issuer sign with a new one.',
    {
      errors: [{ path: 'status', message }],
    },
  )
}

function toKeyStates(states: readonly KeyState[] | undefined): readonly KeyState[] {
  if (states === undefined)
    throw unfitKeys(
      `are more than ${limits.issuer_keys_max} together with the compromised ones, which stay`,
      `The issuer would have more than ${limits.issuer_keys_max} keys, including its compromised ones. Send fewer.`,
    )
  return states
}

function unfitKeys(message: string, detail: string): Problem {
  return new Problem('validation_failed', detail, { errors: [{ path: 'keys', message }] })
}
