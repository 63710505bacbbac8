import type { Credential } from './credential.ts'
import type { CredentialId } from './ids.ts'

/** The id of one credential of a chain, and when it was signed. */
export interface ChainLink {
  readonly credentialId: CredentialId
  readonly createdMs: number
}

/** The credential itself, then its parents up to the root. */
export function listChain(credential: Credential): readonly ChainLink[] {
  const chain: ChainLink[] = []
  for (let link: Credential | undefined = credential; link !== undefined; link = link.parent) {
    chain.push({ credentialId: link.id, createdMs: link.createdMs })
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
