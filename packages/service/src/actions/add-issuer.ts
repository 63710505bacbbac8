import { type DidKey, parseDidWeb, type SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { readOwnKeys, readPinnedKeys } from '../keys/issuer-keys.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import { Problem } from '../problem.ts'
import type { Issuer, NewIssuer } from '../store/operations/issuers.ts'
import type { WaitingCaller } from './waiting-caller.ts'

export interface IssuerOrder extends Omit<NewIssuer, 'keys' | 'fetched' | 'oauth'> {
  /** Only for a `did:web`: its keys, which are then not fetched. */
  readonly pinned: readonly string[] | undefined
}

/**
 * Makes a site trust an issuer. A `did:web` without pinned keys is fetched; when that fails, or a
 * key is rejected, nothing is stored. When this returns, this node accepts credentials of the
 * issuer. Throws `not_found` when there is no such site, and as `confirm` does when the access of
 * the caller has ended meanwhile.
 */
export async function addIssuer(
  deps: Pick<Deps, 'store' | 'views' | 'didWeb' | 'log'>,
  order: IssuerOrder,
  caller: WaitingCaller,
): Promise<Issuer> {
  const { pinned, ...issuer } = order
  if ((await deps.store.site(issuer.siteId)) === undefined) throw new Problem('not_found')
  // Before the fetch, which an issuer that exists already does not need.
  if ((await deps.store.issuer(issuer.siteId, issuer.issuer)) !== undefined) throw existsAlready()
  const keys = await loadKeys(deps, issuer, pinned, caller)
  const fetched = pinned === undefined && isDidWeb(issuer.issuer)
  const context = await caller.confirm()
  const added = await deps.store.addIssuer(
    { ...issuer, fetched, keys: keys.map(({ id, key }) => ({ id, key: key.multikey, status: 'active' })) },
    context,
    limits.issuers_per_site_max,
    deps.views.lastEntryAbout(issuer.siteId, issuer.issuer),
  )
  if (added === 'exists') throw existsAlready()
  if (added === 'too_many') throw tooManyIssuers()
  await waitForLocalView(deps, added)
  return added
}

async function loadKeys(
  deps: Pick<Deps, 'didWeb' | 'log'>,
  { siteId, issuer: did }: Pick<IssuerOrder, 'siteId' | 'issuer'>,
  pinned: readonly string[] | undefined,
  caller: WaitingCaller,
): Promise<readonly DidKey[]> {
  if (!isDidWeb(did)) {
    const keys = readOwnKeys(did)
    if ('fault' in keys)
      throw new Problem('key_rejected', `The issuer is not accepted: ${keys.fault}. Use another key.`, {
        errors: [{ path: 'issuer', message: keys.fault }],
      })
    return keys
  }
  if (parseDidWeb(did) === undefined) {
    const message = 'must be a did:web with a host name, not an address, and plain path segments'
    throw new Problem('validation_failed', `The issuer is invalid: it ${message}.`, {
      errors: [{ path: 'issuer', message }],
    })
  }
  if (pinned !== undefined) return requirePinnedKeys(readPinnedKeys(pinned))
  return fetchKeys(deps, did, siteId, caller)
}

/**
 * The keys that a `did:web` publishes now. Throws `key_rejected` when it cannot be fetched, or
 * publishes none.
 */
export async function fetchKeys(
  { didWeb, log }: Pick<Deps, 'didWeb' | 'log'>,
  did: string,
  forSite: SiteId,
  { releaseWhile }: Pick<WaitingCaller, 'releaseWhile'>,
): Promise<readonly DidKey[]> {
  const fetched = await releaseWhile(didWeb.fetch(did, forSite))
  if ('fault' in fetched) {
    log.info({ issuer: did, err: fetched.cause, fault: fetched.fault }, 'a DID document was not accepted')
    throw new Problem(
      'key_rejected',
      `The keys of the issuer cannot be loaded: ${fetched.fault}. Nothing was stored.`,
      {
        cause: fetched.cause,
        errors: [{ path: 'issuer', message: fetched.fault }],
      },
    )
  }
  if (fetched.keys.length > 0) return fetched.keys
  throw new Problem('key_rejected', 'The DID document names no key for assertionMethod. Nothing was stored.')
}

/** Throws `key_rejected` with the index of the first key that is not accepted. */
export function requirePinnedKeys(read: ReturnType<typeof readPinnedKeys>): readonly DidKey[] {
  if (!('fault' in read)) return read
  throw new Problem('key_rejected', `The keys are not accepted: ${read.fault}. Nothing was stored.`, {
    errors: [{ path: `keys.${read.at}`, message: read.fault }],
  })
}

export function isDidWeb(did: string): boolean {
  return did.startsWith('did:web:')
}

export function tooManyIssuers(): Problem {
  const message = `cannot be added: this site already has ${limits.issuers_per_site_max}, and none can be deleted`
  return new Problem('validation_failed', `The issuer ${message}. Use one of those that it has.`, {
    errors: [{ path: 'issuer', message }],
  })
}

export function existsAlready(): Problem {
  return new Problem('already_exists', 'This site already has this issuer. Change it with PATCH.')
}
