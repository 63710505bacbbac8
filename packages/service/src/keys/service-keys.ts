import type { DidKey, FeedKeyStatement, PrivateKey, PublicKey, Signer, SiteId } from '@countersign/core'
import { publicKeyToJwk } from '@countersign/core'
import type { DidDocument, Jwks } from '@countersign/core/contract'
import { MASTER_KEY_SEAL, pairwisePurpose } from '../sealing/purposes.ts'
import { createSealer, OtherMasterKey, type Sealer } from '../sealing/sealer.ts'
import type { Store } from '../store/store.ts'
import { FeedKeyRing } from './feed-key-ring.ts'
import { openIssuerKeyRing } from './issuer-key-ring.ts'

/** `issuer`: signs credentials. `feed`: signs heads of the log, and never a credential. */
export type KeyUse = 'issuer' | 'feed'

/**
 * The keys of the service itself. Private keys are sealed in the store and never leave this object.
 * A rotation publishes the next key immediately, and signs with it when every node has had time to
 * publish it. A superseded issuer key stays published until all its credentials have expired, a
 * superseded feed key for one hour.
 */
export interface ServiceKeys extends Sealer {
  /** `did:web` of the host in the base URL. */
  readonly issuerDid: string
  /** The signer of credentials at that time; the caller sets `createdMs`. */
  signer(nowMs: number): Omit<Signer, 'createdMs'>
  /**
   * The keys that sites should trust, oldest first, including the one that signs. The id is the
   * fragment: the Multikey itself.
   */
  readonly issuerKeys: readonly DidKey[]
  /**
   * Opens the pairwise secret of a site. The secret never changes, so a node that has opened it
   * can go on revoking by `user_ref` after the master key of the store was changed. Throws a
   * `SealBroken` when the text does not open and the node has not opened it before.
   */
  openPairwise(siteId: SiteId, sealed: string): string
  /** The key that signs heads of the log at that time. */
  feedKey(nowMs: number): { readonly kid: string; readonly key: PrivateKey }
  readonly feedKeys: readonly { readonly kid: string; readonly key: PublicKey }[]
  /**
   * The public key of a feed key that signs or has signed, also after it was withdrawn. Undefined
   * if it was marked as compromised.
   */
  findFeedKey(kid: string): PublicKey | undefined
  /**
   * How the feed keys followed each other: the latest signed statements, oldest first. The last one
   * commits to the next key.
   */
  readonly feedKeyChain: readonly FeedKeyStatement[]
  /**
   * Lists feed keys as verification methods, but not under assertionMethod: a verifier must not
   * accept them as issuer keys.
   */
  didDocument(): DidDocument
  jwks(): Jwks
  /**
   * Publishes the next key and returns its id. It signs after `leadMs` (default `KEY_LEAD_MS`). Two
   * nodes that rotate at the same time create one key. Sites must trust it too: see
   * `actions/key-upkeep.ts`.
   */
  rotate(use: KeyUse, nowMs: number, options?: { readonly leadMs?: number }): Promise<string>
  /**
   * Signs with the next feed key immediately, and withdraws all feed keys before it. Returns
   * the id of the new key.
   */
  replaceCompromisedFeedKey(nowMs: number): Promise<string>
  /**
   * Loads rotations of other nodes. True when there was one. Rejects when the store is unavailable,
   * and with an `OtherMasterKey` when the master key of the store was changed: restart with the new
   * one.
   */
  reload(nowMs: number): Promise<boolean>
}

/** Time between publishing a key and signing with it: several times the interval of `reload`. */
export const KEY_LEAD_MS = 60_000
/** How often every node should `reload`. */
export const KEY_RELOAD_MS = 5_000

/**
 * Loads the keys from the store, and creates the first ones if there are none. Nodes that start at
 * once agree, because the first stored key wins. Rejects when the store is unavailable, or its keys
 * were sealed under another master key.
 */
export async function openServiceKeys(
  store: Pick<Store, 'putSecret' | 'secret'>,
  masterKey: Uint8Array,
  baseUrl: string,
  nowMs: number,
): Promise<ServiceKeys> {
  const sealer = createSealer(masterKey)
  const issuerDid = toDid(baseUrl)
  const rings = {
    issuer: await openIssuerKeyRing(store, sealer, nowMs),
    feed: await FeedKeyRing.open(store, sealer, nowMs),
  }
  // After the keys are open: an older store must not be recorded as sealed under a key that does
  // not open it.
  await store.putSecret(MASTER_KEY_SEAL, sealer.seal(MASTER_KEY_SEAL, sealer.keyName))
  const toMethod = (id: string) => `${issuerDid}#${id}`
  const pairwise = new Map<SiteId, string>()

  return {
    ...sealer,
    issuerDid,
    signer(at) {
      const { id, key } = rings.issuer.signing(at)
      return { issuer: issuerDid, verificationMethod: toMethod(id), key }
    },
    get issuerKeys() {
      return rings.issuer.published.map(({ id, key }) => ({ id, key: key.publicKey }))
    },
    openPairwise(siteId, sealed) {
      try {
        const secret = sealer.open(pairwisePurpose(siteId), sealed)
        pairwise.set(siteId, secret)
        return secret
      } catch (fault) {
        const known = fault instanceof OtherMasterKey ? pairwise.get(siteId) : undefined
        if (known === undefined) throw fault
        return known
      }
    },
    feedKey(at) {
      const { id, key } = rings.feed.signing(at)
      return { kid: id, key }
    },
    get feedKeys() {
      return rings.feed.published.map(({ id, key }) => ({ kid: id, key: key.publicKey }))
    },
    findFeedKey: (kid) => rings.feed.find(kid)?.key.publicKey,
    get feedKeyChain() {
      return rings.feed.chain
    },
    didDocument() {
      const methods = [...rings.issuer.published, ...rings.feed.published]
      return {
        '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
        id: issuerDid,
        verificationMethod: methods.map(({ id, key }) => ({
          id: toMethod(id),
          type: 'Multikey',
          controller: issuerDid,
          publicKeyMultibase: key.publicKey.multikey,
        })),
        assertionMethod: rings.issuer.published.map(({ id }) => toMethod(id)),
      }
    },
    jwks() {
      const keys = [...rings.issuer.published, ...rings.feed.published]
      return {
        keys: keys.map(({ id, key }) => ({
          ...publicKeyToJwk(key.publicKey),
          kid: toMethod(id),
          alg: 'EdDSA',
          use: 'sig',
        })),
      } as Jwks
    },
    rotate: (use, at, { leadMs = KEY_LEAD_MS } = {}) =>
      use === 'issuer'
        ? rings.issuer.rotate(at, leadMs)
        : rings.feed.rotate(at, { leadMs, isCompromised: false }),
    replaceCompromisedFeedKey: (at) => rings.feed.rotate(at, { leadMs: 0, isCompromised: true }),
    async reload(at) {
      const seal = await store.secret(MASTER_KEY_SEAL)
      if (seal !== undefined) sealer.open(MASTER_KEY_SEAL, seal)
      const news = [await rings.issuer.reload(at), await rings.feed.reload(at)]
      return news.includes(true)
    },
  }
}

/** RFC 3986 does not encode the colon of a port; did:web requires it. */
function toDid(baseUrl: string): string {
  return `did:web:${encodeURIComponent(new URL(baseUrl).host)}`
}
