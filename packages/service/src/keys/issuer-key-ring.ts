import { exportPrivateJwk, generatePrivateKey, importPrivateKey, type PrivateKey } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Sealer } from '../sealing/sealer.ts'
import type { Store } from '../store/store.ts'
import { createInTurn } from './in-turn.ts'

/** The keys that sign credentials. */
export interface IssuerKeyRing {
  /** Oldest first, never empty. */
  readonly published: readonly IssuerKey[]
  signing(nowMs: number): IssuerKey
  rotate(nowMs: number, leadMs: number): Promise<string>
  /** Loads rotations of other nodes. True when there was one. */
  reload(nowMs: number): Promise<boolean>
}

interface IssuerKey {
  readonly id: string
  readonly key: PrivateKey
  readonly signsFromMs: number
}

/** By then all credentials of a superseded key have expired. */
const SUPERSEDED_KEPT_MS = (limits.credential_lifetime_seconds_max + 86_400) * 1000
/** Maximum number of keys of one issuer that a site can trust. */
const KEYS_MAX = limits.issuer_keys_max
/** For the whole life of a store. */
const ROTATIONS_MAX = 10_000

/**
 * Loads the keys from the store, and creates the first one if there is none. Each key has a number
 * and a name in the store; the first node that writes a name wins. Rejects when the store is
 * unavailable.
 */
export async function openIssuerKeyRing(
  store: Pick<Store, 'putSecret' | 'secret'>,
  sealer: Sealer,
  nowMs: number,
): Promise<IssuerKeyRing> {
  const keys: IssuerKey[] = []
  let published: readonly IssuerKey[] = []
  const toName = (number: number) => `service-key:issuer:${number}`

  const addSealed = async (sealed: string) => {
    const name = toName(keys.length + 1)
    keys.push(await parseKept(sealer.open(name, sealed)))
  }
  const updatePublished = (at: number) => {
    const superseded = keys.findLastIndex(({ signsFromMs }) => signsFromMs + SUPERSEDED_KEPT_MS <= at)
    published = keys.slice(Math.max(superseded, 0))
  }
  const load = async () => {
    const before = keys.length
    while (keys.length < ROTATIONS_MAX) {
      const sealed = await store.secret(toName(keys.length + 1))
      if (sealed === undefined) break
      await addSealed(sealed)
    }
    return keys.length > before
  }
  const add = async (signsFromMs: number) => {
    const name = toName(keys.length + 1)
    const made = await generatePrivateKey('Ed25519', { extractable: true })
    const kept = JSON.stringify({ signs_from_ms: signsFromMs, jwk: await exportPrivateJwk(made) })
    await addSealed(await store.putSecret(name, sealer.seal(name, kept)))
  }
  /** Steps run one at a time, because each depends on the number of keys. */
  const inTurn = createInTurn()

  await load()
  if (keys.length === 0) await add(nowMs)
  updatePublished(nowMs)

  const newest = () => keys.at(-1) as IssuerKey
  return {
    get published() {
      return published
    },
    // With a clock before all of them, the first key signs.
    signing: (at) => keys.findLast(({ signsFromMs }) => signsFromMs <= at) ?? (keys[0] as IssuerKey),
    rotate: (at, leadMs) =>
      inTurn(async () => {
        const isNews = await load()
        // Another node has rotated since the last load. That rotation is used, unless it takes
        // effect too late.
        if (!isNews || newest().signsFromMs > at + leadMs) {
          updatePublished(at)
          if (published.length >= KEYS_MAX)
            throw new TypeError(
              `at most ${KEYS_MAX} keys can be published at a time; wait until old ones end`,
            )
          await add(at + leadMs)
        }
        updatePublished(at)
        return newest().id
      }),
    reload: (at) =>
      inTurn(async () => {
        const isNews = await load()
        updatePublished(at)
        return isNews
      }),
  }
}

async function parseKept(text: string): Promise<IssuerKey> {
  const { signs_from_ms: signsFromMs, jwk } = JSON.parse(text) as { signs_from_ms: number; jwk: unknown }
  const key = await importPrivateKey(jwk)
  return { id: key.publicKey.multikey, key, signsFromMs }
}
