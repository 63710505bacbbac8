import type { DidKey, PrivateKey, PublicKey, Signer } from '@countersign/core'
import { exportPrivateJwk, generatePrivateKey, importPrivateKey, publicKeyToJwk } from '@countersign/core'
import type { DidDocument, Jwks } from '@countersign/core/contract'
import { limits } from '@countersign/core/contract'
import { MASTER_KEY_SEAL } from '../store/sealed-columns.ts'
import type { Store } from '../store/store.ts'
import { createSealer, type Sealer } from './seal.ts'

/** `issuer`: signs credentials. `feed`: signs heads of the log, and never a credential. */
export type KeyUse = 'issuer' | 'feed'

/**
 * The keys of the service itself. Private halves are sealed in the store and never leave this object. A rotation adds a key: it is published
 * at once, signs once every node has had time to publish it, and the one before stays published for as long as what it signed may live.
 */
export interface ServiceKeys extends Sealer {
  /** `did:web` of the host in the base URL. */
  readonly issuerDid: string
  /** What credentials are signed with at that moment; `createdMs` is for the caller to set. */
  signer(nowMs: number): Omit<Signer, 'createdMs'>
  /** The keys that sites should trust, oldest first, the one that signs among them. The id is the fragment: the Multikey itself. */
  readonly issuerKeys: readonly DidKey[]
  /** What heads of the log are signed with at that moment. */
  feedKey(nowMs: number): { readonly kid: string; readonly key: PrivateKey }
  readonly feedKeys: readonly { readonly kid: string; readonly key: PublicKey }[]
  /** Feed keys stand in it as verification methods, but not under assertionMethod: nobody may take them for issuers. */
  didDocument(): DidDocument
  jwks(): Jwks
  /**
   * Makes the next key, publishes it and returns its id. It signs after `leadMs` (default `KEY_LEAD_MS`). Two nodes that rotate at once make
   * one key. Sites have to be told as well: see `actions/rotate-key.ts`.
   */
  rotate(use: KeyUse, nowMs: number, options?: { readonly leadMs?: number }): Promise<string>
  /**
   * Takes in what other nodes have rotated. True when there was something new. Rejects when the store cannot be asked, and with an
   * `OtherMasterKey` when the master key of the store was changed: then only a restart with the new one helps.
   */
  reload(nowMs: number): Promise<boolean>
}

/** Between publishing a key and signing with it: several times as long as nodes take to `reload`. */
export const KEY_LEAD_MS = 60_000
/** How often every node should `reload`. */
export const KEY_RELOAD_MS = 15_000
/** What a superseded key signed is all expired by then. */
const SUPERSEDED_KEPT_MS = (limits.credential_lifetime_seconds_max + 86_400) * 1000
/** Sites can trust so many keys of one issuer. */
const KEYS_MAX = limits.issuer_keys_max
/** Of one use, over the whole life of a store. */
const ROTATIONS_MAX = 10_000

interface OwnKey {
  readonly id: string
  readonly key: PrivateKey
  readonly signsFromMs: number
}

/**
 * Reads the keys out of the store, and makes the first ones if there are none. Nodes that start at once agree: the first key put is
 * everybody's. Rejects when the store cannot be asked, or its keys were sealed under another master key.
 */
export async function openServiceKeys(
  store: Pick<Store, 'putSecret' | 'secret'>,
  masterKey: Uint8Array,
  baseUrl: string,
  nowMs: number,
): Promise<ServiceKeys> {
  const sealer = createSealer(masterKey)
  const issuerDid = didOf(baseUrl)
  const rings = { issuer: await openKeyRing(store, sealer, 'issuer', nowMs), feed: await openKeyRing(store, sealer, 'feed', nowMs) }
  // After the keys: a store from before this seal was made must not be marked as sealed under a key that does not open it.
  await store.putSecret(MASTER_KEY_SEAL, sealer.seal(MASTER_KEY_SEAL, sealer.keyName))
  const methodOf = (id: string) => `${issuerDid}#${id}`

  return {
    ...sealer,
    issuerDid,
    signer(at) {
      const { id, key } = rings.issuer.signing(at)
      return { issuer: issuerDid, verificationMethod: methodOf(id), key }
    },
    get issuerKeys() {
      return rings.issuer.published.map(({ id, key }) => ({ id, key: key.publicKey }))
    },
    feedKey(at) {
      const { id, key } = rings.feed.signing(at)
      return { kid: id, key }
    },
    get feedKeys() {
      return rings.feed.published.map(({ id, key }) => ({ kid: id, key: key.publicKey }))
    },
    didDocument() {
      const methods = [...rings.issuer.published, ...rings.feed.published]
      return {
        '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
        id: issuerDid,
        verificationMethod: methods.map(({ id, key }) => ({
          id: methodOf(id),
          type: 'Multikey',
          controller: issuerDid,
          publicKeyMultibase: key.publicKey.multikey,
        })),
        assertionMethod: rings.issuer.published.map(({ id }) => methodOf(id)),
      }
    },
    jwks() {
      const keys = [...rings.issuer.published, ...rings.feed.published]
      return {
        keys: keys.map(({ id, key }) => ({ ...publicKeyToJwk(key.publicKey), kid: methodOf(id), alg: 'EdDSA', use: 'sig' })),
      } as Jwks
    },
    rotate: (use, at, { leadMs = KEY_LEAD_MS } = {}) => rings[use].rotate(at, leadMs),
    async reload(at) {
      const seal = await store.secret(MASTER_KEY_SEAL)
      if (seal !== undefined) sealer.open(MASTER_KEY_SEAL, seal)
      const news = [await rings.issuer.reload(at), await rings.feed.reload(at)]
      return news.includes(true)
    },
  }
}

/** RFC 3986 would leave the colon of a port alone; did:web wants it encoded. */
function didOf(baseUrl: string): string {
  return `did:web:${encodeURIComponent(new URL(baseUrl).host)}`
}

interface KeyRing {
  /** Oldest first, never empty. */
  readonly published: readonly OwnKey[]
  signing(nowMs: number): OwnKey
  rotate(nowMs: number, leadMs: number): Promise<string>
  reload(nowMs: number): Promise<boolean>
}

/** The keys of one use. Each has a number and a name of its own in the store, where the first to put it wins. */
async function openKeyRing(store: Pick<Store, 'putSecret' | 'secret'>, sealer: Sealer, use: KeyUse, nowMs: number): Promise<KeyRing> {
  const keys: OwnKey[] = []
  let published: readonly OwnKey[] = []
  const nameOf = (number: number) => `service-key:${use}:${number}`

  const take = async (sealed: string) => {
    const name = nameOf(keys.length + 1)
    keys.push(await parseKept(sealer.open(name, sealed)))
  }
  const settle = (at: number) => {
    const superseded = keys.findLastIndex(({ signsFromMs }) => signsFromMs + SUPERSEDED_KEPT_MS <= at)
    published = keys.slice(Math.max(superseded, 0))
  }
  const load = async () => {
    const before = keys.length
    while (keys.length < ROTATIONS_MAX) {
      const sealed = await store.secret(nameOf(keys.length + 1))
      if (sealed === undefined) break
      await take(sealed)
    }
    return keys.length > before
  }
  const add = async (signsFromMs: number) => {
    const name = nameOf(keys.length + 1)
    const made = await generatePrivateKey('Ed25519', { extractable: true })
    const kept = JSON.stringify({ signs_from_ms: signsFromMs, jwk: await exportPrivateJwk(made) })
    await take(await store.putSecret(name, sealer.seal(name, kept)))
  }
  /** One after the other, also within one node: each step rests on how many keys there are. */
  let queue: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(step: () => Promise<T>): Promise<T> => {
    const turn = queue.then(step)
    queue = turn.catch(() => undefined)
    return turn
  }

  await load()
  if (keys.length === 0) await add(nowMs)
  settle(nowMs)

  const newest = () => keys.at(-1) as OwnKey
  return {
    get published() {
      return published
    },
    // Should a clock stand before all of them, the first key signs: it was there from the start.
    signing: (at) => keys.findLast(({ signsFromMs }) => signsFromMs <= at) ?? (keys[0] as OwnKey),
    rotate: (at, leadMs) =>
      inTurn(async () => {
        const isNews = await load()
        // Somebody else has rotated since we last looked: that is the rotation, unless it comes into force too late.
        if (!isNews || newest().signsFromMs > at + leadMs) {
          settle(at)
          if (published.length >= KEYS_MAX)
            throw new TypeError(`at most ${KEYS_MAX} keys can be published at a time; wait until old ones end`)
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

async function parseKept(text: string): Promise<OwnKey> {
  const { signs_from_ms: signsFromMs, jwk } = JSON.parse(text) as { signs_from_ms: number; jwk: unknown }
  const key = await importPrivateKey(jwk)
  return { id: key.publicKey.multikey, key, signsFromMs }
}
