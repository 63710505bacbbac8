import { hash } from 'node:crypto'
import { type DidKey, type SiteId, toKeyText } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { nextKeyStates, sameKeyStates } from '../keys/issuer-keys.ts'
import { nextOAuthKeys, type OAuthKey } from '../keys/oauth-keys.ts'
import { RowForged } from '../store/errors.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Issuer, IssuerKey, OAuthSettings } from '../store/operations/issuers.ts'

export type RefreshDeps = Pick<
  Deps,
  'store' | 'views' | 'didWeb' | 'keySets' | 'clock' | 'config' | 'meters' | 'log'
>

/** A document with the keys of an issuer, and the sites that trust the issuer. */
export interface Source {
  readonly name: string
  readonly issuer: string
  readonly oauth: OAuthSettings | undefined
  readonly siteIds: SiteId[]
  /** When the oldest of its keys at any site were fetched. */
  refreshedAtMs: number
}

type Keys =
  | { readonly type: 'credential'; readonly list: readonly DidKey[] }
  | { readonly type: 'oauth'; readonly list: readonly OAuthKey[] }

/** More changes of a document within an hour are not written to the log. */
const CHANGES_PER_HOUR_MAX = 12

/**
 * Fetches a document, unless a node has begun to within `pauseMs`, and updates the keys of its
 * issuer at all sites that trust it.
 *
 * - A new key is valid from now on. A key that the site has retired or marked as compromised stays
 *   so.
 * - A key that is no longer in the document is no longer valid, also for what it signed before: its
 *   owner may have removed it because it leaked, and a thief can backdate a signature. A site that
 *   still trusts the key can pin it.
 * - A document that cannot be fetched or read changes nothing until its keys are older than
 *   `issuer_keys_hours_max`. Then they are removed until it can be fetched again. A document
 *   without keys removes all keys.
 * - When the keys change more than 12 times an hour, new keys are held back, with an alarm. Keys
 *   that are gone are removed all the same.
 */
export async function refreshSource(deps: RefreshDeps, source: Source, pauseMs: number): Promise<void> {
  const { store, clock, log, meters } = deps
  const claimed = await store.claimKeySource(source.name, clock.nowMs(), pauseMs)
  if (claimed === undefined) return
  const keys = await loadKeys(deps, source)
  const admitted = keys === undefined ? undefined : await admit(deps, source, keys)
  if (keys !== undefined && admitted === true) {
    source.refreshedAtMs = clock.nowMs()
    meters.issuerRefresh('refreshed')
  } else meters.issuerRefresh(keys === undefined ? 'failed' : 'held_back')
  for (const siteId of source.siteIds) {
    try {
      // Read after the fetch: changes that the site has made meanwhile take precedence.
      const now = await store.issuer(siteId, source.issuer)
      if (now === undefined || now.status !== 'trusted' || !now.fetched) continue
      if (keys !== undefined && admitted === true) await updateKeys(deps, source, now, keys)
      else {
        if (keys !== undefined) await reportHeldBack(deps, now)
        if (isStale(deps, now, claimed.refreshedAtMs)) await removeStaleKeys(deps, source, now)
        else if (keys !== undefined) await updateKeys(deps, source, now, keys, 'no new keys')
      }
    } catch (err) {
      // A forged row must not prevent the refresh of other issuers.
      if (!(err instanceof RowForged)) throw err
      log.error(
        { err, site_id: siteId, issuer: source.issuer },
        'the row of an issuer is not as this service wrote it; its keys were not refreshed',
      )
    }
  }
}

/** Whether the keys may be used. */
async function admit({ store, clock, log }: RefreshDeps, source: Source, keys: Keys): Promise<boolean> {
  try {
    const answer = await store.admitKeySet(source.name, toDigest(keys), clock.nowMs(), CHANGES_PER_HOUR_MAX)
    return answer !== 'held_back'
  } catch (err) {
    if (!(err instanceof RowForged)) throw err
    log.error({ err, issuer: source.issuer }, 'the row of a key source is not as this service wrote it')
    return false
  }
}

async function loadKeys(deps: RefreshDeps, { issuer, oauth }: Source): Promise<Keys | undefined> {
  const { didWeb, keySets, log } = deps
  if (oauth === undefined) {
    const answer = await didWeb.fetch(issuer)
    if (!('fault' in answer)) return { type: 'credential', list: answer.keys }
    log.warn(
      { issuer, fault: answer.fault, err: answer.cause },
      'a DID document could not be refreshed; its old keys stay',
    )
    return undefined
  }
  const answer = await keySets.fetch({ issuer, jwksUri: oauth.jwks_uri })
  if ('fault' in answer) {
    log.warn(
      { issuer, fault: answer.fault, err: 'cause' in answer ? answer.cause : undefined },
      'a key set could not be refreshed; its old keys stay',
    )
    return undefined
  }
  if (answer.leftOut.length > 0)
    log.info({ issuer, left_out: answer.leftOut }, 'keys of a key set are unused')
  return { type: 'oauth', list: answer.keys }
}

async function updateKeys(
  deps: RefreshDeps,
  source: Source,
  issuer: Issuer,
  keys: Keys,
  admitted: 'all' | 'no new keys' = 'all',
): Promise<void> {
  const { log } = deps
  const about = { site_id: issuer.siteId, issuer: issuer.issuer }
  const published =
    keys.type === 'oauth' ? nextOAuthKeys(issuer.keys, keys.list) : nextKeyStates(issuer.keys, keys.list)
  const isKnown = ({ id, key }: IssuerKey) =>
    issuer.keys.some((known) => known.id === id && known.key === key)
  const next = admitted === 'all' ? published : published?.filter(isKnown)
  if (next === undefined)
    return log.warn(about, 'a DID document has too many keys, with the compromised ones; its old keys stay')
  if (!(await replaceKeys(deps, source, issuer, next))) return
  log.info(
    { ...about, keys: next.map(({ id, status }) => `${id} ${status}`) },
    'the keys of an issuer have changed',
  )
}

/** Keys that could not be refreshed for too long may have been removed by their owner meanwhile. */
function isStale({ clock, config }: RefreshDeps, issuer: Issuer, refreshedAtMs = 0): boolean {
  const fetchedAtMs = Math.max(refreshedAtMs, issuer.keysAtMs)
  return clock.nowMs() - fetchedAtMs > config.issuerKeysAgeMsMax
}

async function removeStaleKeys(deps: RefreshDeps, source: Source, issuer: Issuer): Promise<void> {
  const { log } = deps
  const next = issuer.keys.filter(({ status }) => status === 'compromised')
  if (await replaceKeys(deps, source, issuer, next))
    log.error(
      { site_id: issuer.siteId, issuer: issuer.issuer },
      'the keys of an issuer could not be refreshed for too long and are removed until they can be',
    )
}

/** Whether anything has changed. */
async function replaceKeys(
  { store, views, clock }: RefreshDeps,
  source: Source,
  issuer: Issuer,
  next: readonly IssuerKey[],
): Promise<boolean> {
  if (sameKeyStates(issuer.keys, next)) return false
  await store.changeIssuer(
    issuer.siteId,
    issuer.issuer,
    { keys: next, whileFetched: true, fromSource: source.name },
    toContext(clock.nowMs()),
    views.lastEntryAbout(issuer.siteId, issuer.issuer),
  )
  return true
}

async function reportHeldBack({ store, clock, log }: RefreshDeps, { siteId, issuer }: Issuer): Promise<void> {
  log.error(
    { site_id: siteId, issuer },
    'the keys of an issuer change too often; new ones are held back for up to an hour',
  )
  await store.audit({
    siteId,
    action: 'issuer.keys_held_back',
    target: issuer,
    detail: { changes_per_hour_max: CHANGES_PER_HOUR_MAX },
    context: toContext(clock.nowMs()),
  })
}

function toContext(atMs: number): AuditContext {
  return { actor: 'system', atMs }
}

/** The same for the same keys in any order. */
function toDigest(keys: Keys): string {
  const lines =
    keys.type === 'oauth'
      ? keys.list.map(({ id, kid, key }) => JSON.stringify([id, kid, toKeyText(key)]))
      : keys.list.map(({ id, key }) => JSON.stringify([id, key.multikey]))
  return hash('sha256', lines.sort().join('\n'), 'hex')
}
