import { createNodeCrypto } from './crypto-node.ts'
import type { Crypto } from './crypto-port.ts'
import { createWebCrypto } from './crypto-web.ts'

/** node:crypto where there is one, otherwise WebCrypto. Chosen once, when this module is loaded. */
export const crypto: Crypto = /* @__PURE__ */ createNodeCrypto() ?? /* @__PURE__ */ createWebCrypto()
