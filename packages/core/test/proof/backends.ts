import { createNodeCrypto } from '../../src/proof/crypto-node.ts'
import type { Crypto } from '../../src/proof/crypto-port.ts'
import { createWebCrypto } from '../../src/proof/crypto-web.ts'

/**
 * The backends of this process: node:crypto with each library for Ed25519, and WebCrypto; only
 * WebCrypto in the run that hides node:crypto.
 */
export const backends: readonly Crypto[] = [
  createNodeCrypto('openssl'),
  createNodeCrypto('libsodium'),
  createWebCrypto(),
].filter((backend) => backend !== undefined)
