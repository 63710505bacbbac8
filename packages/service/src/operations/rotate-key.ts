import { replaceCompromisedFeedKey, rotateKey } from '../actions/key-upkeep.ts'
import type { Config } from '../config.ts'
import { KEY_LEAD_MS, openServiceKeys, type ServiceKeys } from '../keys/service-keys.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Store } from '../store/store.ts'
import { type StoreSettings, withStore } from './with-store.ts'

type KeySettings = StoreSettings & Pick<Config, 'baseUrl'>

/** A new key, and how soon it signs: after the delay that running nodes need to learn of it. */
export interface RotatedKey {
  readonly keyId: string
  readonly signsInSeconds: number
}

/** Creates a new key for signing credentials. `isNow`: it signs immediately. */
export async function rotateIssuerKey(
  settings: KeySettings,
  { isNow }: { readonly isNow: boolean },
): Promise<RotatedKey> {
  const keyId = await withKeys(settings, (deps, context) => rotateKey(deps, 'issuer', context, toLead(isNow)))
  return { keyId, signsInSeconds: toSeconds(isNow) }
}

/**
 * Brings the next feed key into use. `isCompromised`: immediately, and all earlier feed keys are
 * withdrawn.
 */
export async function rotateFeedKey(
  settings: KeySettings,
  { isNow, isCompromised }: { readonly isNow: boolean; readonly isCompromised: boolean },
): Promise<RotatedKey & { readonly nextSha256: string | undefined }> {
  const rotated = await withKeys(settings, async (deps, context) => {
    const keyId = isCompromised
      ? await replaceCompromisedFeedKey(deps, context)
      : await rotateKey(deps, 'feed', context, toLead(isNow))
    return { keyId, nextSha256: deps.keys.feedKeyChain.at(-1)?.next_sha256 }
  })
  return { ...rotated, signsInSeconds: toSeconds(isNow || isCompromised) }
}

const toLead = (isNow: boolean) => (isNow ? { leadMs: 0 } : {})
const toSeconds = (isNow: boolean) => (isNow ? 0 : KEY_LEAD_MS / 1000)

function withKeys<T>(
  settings: KeySettings,
  run: (deps: { readonly store: Store; readonly keys: ServiceKeys }, context: AuditContext) => Promise<T>,
): Promise<T> {
  const { masterKey, baseUrl } = settings
  return withStore(settings, async (at) => {
    const keys = await openServiceKeys(at.store, masterKey, baseUrl, at.nowMs())
    return run({ store: at.store, keys }, at.context())
  })
}
