import { encodeBase58 } from './base58.ts'

/** A key that this browser signs with and cannot give away. */
export interface HolderKey {
  /** `did:key:z6Mk…` */
  readonly did: string
  readonly privateKey: KeyHandle
}

/** A CryptoKey, under a name that browsers and Node have in common. */
type KeyHandle = Parameters<typeof crypto.subtle.sign>[1]

/** Of Ed25519 public keys, as Multicodec writes it. */
const ED25519 = [0xed, 0x01]

/**
 * Makes a key whose private half is not extractable, by this page or any other. Throws where the
 * browser does not know Ed25519.
 */
export async function createHolderKey(): Promise<HolderKey> {
  const pair = await crypto.subtle.generateKey({ name: 'Ed25519' }, false, ['sign', 'verify'])
  const { privateKey, publicKey } = pair as unknown as {
    readonly privateKey: KeyHandle
    readonly publicKey: KeyHandle
  }
  const raw = new Uint8Array(await crypto.subtle.exportKey('raw', publicKey))
  return { did: `did:key:z${encodeBase58(Uint8Array.from([...ED25519, ...raw]))}`, privateKey }
}
