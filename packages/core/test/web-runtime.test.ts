import { expect, test } from 'vitest'
import { crypto } from '../src/proof/crypto.ts'
import { createNodeCrypto } from '../src/proof/crypto-node.ts'

test('this run proves the WebCrypto path: node:crypto is not to be had', () => {
  expect(createNodeCrypto()).toBeUndefined()
  expect(crypto.name).toBe('web')
})
