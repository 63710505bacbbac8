import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { crypto } from '../proof/crypto.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'

/**
 * Signs a text with a feed key, as base64url. The first line of the text must name what it is, so
 * that no signature can be used for another purpose. Rejects with a TypeError for a key that is not
 * Ed25519.
 */
export async function signFeedText(text: string, key: PrivateKey): Promise<string> {
  if (key.publicKey.algorithm !== 'Ed25519') throw new TypeError('feed keys are Ed25519 keys')
  return encodeBase64url(await key.sign(encodeUtf8(text)))
}

/** Whether this feed key signed exactly this text. */
export async function isFeedSignature(text: string, signature: string, key: PublicKey): Promise<boolean> {
  const bytes = decodeBase64url(signature)
  return bytes !== undefined && key.algorithm === 'Ed25519' && crypto.verify(key, encodeUtf8(text), bytes)
}
