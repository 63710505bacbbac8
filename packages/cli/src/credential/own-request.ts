import {
  CREDENTIAL_HEADER,
  type HolderRequest,
  holderRequestFrom,
  type PrivateKey,
  signRequest,
} from '@countersign/core'

/** A request that is never sent, signed by the holder to prove possession of the key. */
export async function signOwnRequest(header: string, key: PrivateKey, nowMs: number): Promise<HolderRequest> {
  const fields = new Headers({ [CREDENTIAL_HEADER]: header })
  const url = 'https://verify.invalid/'
  const proof = await signRequest(holderRequestFrom('GET', url, fields, 'none'), { key, nowMs })
  for (const [name, value] of Object.entries(proof)) if (value !== undefined) fields.set(name, value)
  return holderRequestFrom('GET', url, fields, 'none')
}
