import { createNodeCrypto } from './crypto-node.ts'
import type { Crypto } from './crypto-port.ts'
import { createWebCrypto } from './crypto-web.ts'

/** node:crypto if available, otherwise WebCrypto. Selected once, when this module is loaded. */
export const crypto: Crypto = /* @__PURE__ */ createNodeCrypto() ?? /* @__PURE__ */ createWebCrypto()

/** What verifies Ed25519 signatures in this process, for a log line. */
export function findEd25519Library(): Crypto['ed25519Library'] {
  return crypto.ed25519Library
}
