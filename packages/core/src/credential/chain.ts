import type { Credential } from './credential.ts'
import type { CredentialId } from './ids.ts'

/** One credential of a chain: its id, when it was signed, and the holder key it is bound to. */
export interface ChainLink {
  readonly credentialId: CredentialId
  readonly createdMs: number
  /** The RFC 7638 thumbprint of the holder key; undefined if the credential is not bound. */
  readonly holder?: string | undefined
}

/** The credential itself, then its parents up to the root. `holders` is in the same order. */
export function listChain(
  credential: Credential,
  holders: readonly (string | undefined)[],
): readonly ChainLink[] {
  const chain: ChainLink[] = []
  for (let link: Credential | undefined = credential; link !== undefined; link = link.parent) {
    chain.push({ credentialId: link.id, createdMs: link.createdMs, holder: holders[chain.length] })
  }
  return chain
}

/**
 * The credential of the chain that the issuer signed: the credential itself if it was not
 * delegated.
 */
export function findRoot(credential: Credential): Credential {
  let root = credential
  while (root.parent !== undefined) root = root.parent
  return root
}
