import type { Deps } from '../deps.ts'
import { OtherMasterKey } from '../keys/seal.ts'
import { KEY_RELOAD_MS, type KeyUse } from '../keys/service-keys.ts'
import type { Act } from '../store/store.ts'
import { ensureOwnIssuerEverywhere } from './own-issuer.ts'

type KeyDeps = Pick<Deps, 'store' | 'keys' | 'clock' | 'log'>

/**
 * Makes a new key of the service, tells every site of it, and leaves its mark in the audit. The key before still verifies and stays published;
 * whoever does not trust it any more condemns it at the sites, and then rotates with `leadMs: 0`. Returns the new key's id.
 */
export async function rotateKey(
  deps: Pick<Deps, 'store' | 'keys'>,
  use: KeyUse,
  act: Act,
  options?: { readonly leadMs?: number },
): Promise<string> {
  const keyId = await deps.keys.rotate(use, act.atMs, options)
  if (use === 'issuer') await ensureOwnIssuerEverywhere(deps, act)
  await deps.store.audit({ siteId: null, action: 'service_key.rotate', target: keyId, detail: { use }, act })
  return keyId
}

/**
 * To be run once before the first request, and for ever after: takes in what other nodes have rotated, and makes sure that every site knows
 * the service's keys. Rejects when the store cannot be asked at the start; later failures are logged and tried again.
 */
export async function openKeyUpkeep({ store, keys, clock, log }: KeyDeps): Promise<{ close(): Promise<void> }> {
  const act = (): Act => ({ actor: 'system', atMs: clock.nowMs(), requestId: undefined })
  await ensureOwnIssuerEverywhere({ store, keys }, act())
  const look = async () => {
    if (await keys.reload(clock.nowMs())) await ensureOwnIssuerEverywhere({ store, keys }, act())
  }
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= look()
      .catch((err: unknown) => {
        if (err instanceof OtherMasterKey) log.error({ err }, 'the master key of the store was changed; restart this node with the new one')
        else log.warn({ err }, 'the keys of the service could not be read again')
      })
      .finally(() => {
        running = undefined
      })
  }, KEY_RELOAD_MS)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      await running
    },
  }
}
