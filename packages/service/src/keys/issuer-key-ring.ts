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
  /** Reads what other nodes have rotated. True when there was something new. */
  reload(nowMs: number): Promise<boolean>
}

interface IssuerKey {
  readonly id: string
  readonly key: PrivateKey
  readonly signsFromMs: number
}

/** All credentials that a superseded key signed have expired by then. */
const SUPERSEDED_KEPT_MS = (limits.credential_lifetime_seconds_max + 86_400) * 1000
/** Sites can trust so many keys of one issuer. */
const KEYS_MAX = limits.issuer_keys_max
/** Over the whole life of a store. */
const ROTATIONS_MAX = 10_000

/**
 * Reads the keys from the store, and makes the first one if there is none. Each key has a number
 * and a name of its own in the store; the first node that puts a key under a name wins. Rejects
 * when the store cannot be asked.
 */
export async function openIssuerKeyRing(
  store: Pick<Store, 'putSecret' | 'secret'>,
  sealer: Sealer,
  nowMs: number,
): Promise<IssuerKeyRing> {
  const keys: IssuerKey[] = []
  let published: readonly IssuerKey[] = []
  const toName = (number: number) => `service-key:issuer:${number}`

  const take = async (sealed: string) => {
    const name = toName(keys.length + 1)
    keys.push(await parseKept(sealer.open(name, sealed)))
  }
  const settle = (at: number) => {
    const superseded = keys.findLastIndex(({ signsFromMs }) => signsFromMs + SUPERSEDED_KEPT_MS <= at)
    published = keys.slice(Math.max(superseded, 0))
  }
  const load = async () => {
    const before = keys.length
    while (keys.length < ROTATIONS_MAX) {
      const sealed = await store.secret(toName(keys.length + 1))
      if (sealed === undefined) break
      await take(sealed)
    }
    return keys.length > before
  }
  const add = async (signsFromMs: number) => {
    const name = toName(keys.length + 1)
    const made = await generatePrivateKey('Ed25519', { extractable: true })
    const kept = JSON.stringify({ signs_from_ms: signsFromMs, jwk: await exportPrivateJwk(made) })
    await take(await store.putSecret(name, sealer.seal(name, kept)))
  }
  /** Each step depends on how many keys there are. */
  const inTurn = createInTurn()

  await load()
  if (keys.length === 0) await add(nowMs)
  settle(nowMs)

  const newest = () => keys.at(-1) as IssuerKey
  return {
    get published() {
      return published
    },
    // Should a clock stand before all of them, the first key signs: it was there from the start.
    signing: (at) => keys.findLast(({ signsFromMs }) => signsFromMs <= at) ?? (keys[0] as IssuerKey),
    rotate: (at, leadMs) =>
      inTurn(async () => {
        const isNews = await load()
        // Another node has rotated since we last looked: that is the rotation, unless it comes into
        // force too late.
        if (!isNews || newest().signsFromMs > at + leadMs) {
          settle(at)
          if (published.length >= KEYS_MAX)
            throw new TypeError(
              `at most ${KEYS_MAX} keys can be published at a time; wait until old ones end`,
            )
          await add(at + leadMs)
        }
        settle(at)
        return newest().id
      }),
    reload: (at) =>
      inTurn(async () => {
        const isNews = await load()
        settle(at)
        return isNews
      }),
  }
}

async function parseKept(text: string): Promise<IssuerKey> {
  const { signs_from_ms: signsFromMs, jwk } = JSON.parse(text) as { signs_from_ms: number; jwk: unknown }
  const key = await importPrivateKey(jwk)
  return { id: key.publicKey.multikey, key, signsFromMs }
}
