import type { Deps } from '../deps.ts'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import { KEY_RELOAD_MS, type KeyUse } from '../keys/service-keys.ts'
import { OtherMasterKey } from '../sealing/sealer.ts'
import { RowForged } from '../store/errors.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import { ensureOwnIssuerEverywhere } from './own-issuer.ts'

type KeyDeps = Pick<Deps, 'store' | 'keys' | 'views' | 'clock' | 'log'>

/**
 * Brings a new key of the service into use, adds it at every site, and records it in the audit. The
 * previous key stays published: an issuer key until all it signed has expired, a feed key for one
 * hour. An issuer key that has leaked is marked as compromised at the sites. Returns the id of the
 * new key.
 */
export async function rotateKey(
  deps: Pick<Deps, 'store' | 'keys'>,
  use: KeyUse,
  context: AuditContext,
  options?: { readonly leadMs?: number },
): Promise<string> {
  const keyId = await deps.keys.rotate(use, context.atMs, options)
  if (use === 'issuer') await ensureOwnIssuerEverywhere(deps, context)
  await deps.store.audit({
    siteId: null,
    action: 'service_key.rotate',
    target: keyId,
    detail: { use },
    context,
  })
  return keyId
}

/**
 * Replaces a feed key that has leaked: the key that verifiers expect next signs immediately, and
 * all earlier feed keys are withdrawn immediately. Other nodes follow when they next reload.
 * Returns the id of the new key.
 */
export async function replaceCompromisedFeedKey(
  { store, keys }: Pick<Deps, 'store' | 'keys'>,
  context: AuditContext,
): Promise<string> {
  const keyId = await keys.replaceCompromisedFeedKey(context.atMs)
  await store.audit({
    siteId: null,
    action: 'service_key.rotate',
    target: keyId,
    detail: { use: 'feed', compromised: true },
    context,
  })
  return keyId
}

/**
 * Runs once before the first request and then periodically until it is closed: loads keys that
 * other nodes have rotated, and adds the keys of the service to every site. Rejects when the store
 * fails at the start; later failures are logged and tried again.
 */
export async function openKeyUpkeep({ store, keys, views, clock, log }: KeyDeps): Promise<PeriodicJob> {
  const context = (): AuditContext => ({ actor: 'system', atMs: clock.nowMs() })
  await ensureOwnIssuerEverywhere({ store, keys, views }, context()).catch((err: unknown) => {
    // The node starts but is not ready. The log line names the row for the operator.
    if (!(err instanceof RowForged)) throw err
    log.error(
      { err },
      'a row of the store is not as this service wrote it; the keys of the service were not published to all sites',
    )
  })
  const reload = async () => {
    if (await keys.reload(clock.nowMs())) await ensureOwnIssuerEverywhere({ store, keys, views }, context())
  }
  return everyMs(KEY_RELOAD_MS, reload, (err) => {
    if (err instanceof OtherMasterKey)
      log.error({ err }, 'the master key of the store was changed; restart this node with the new one')
    else log.warn({ err }, 'the keys of the service could not be read again')
  })
}
