import { randomBytes, sign, verify } from 'node:crypto'
import { loadSodium } from '../packages/core/src/proof/sodium.ts'
import type { Subject } from './measure.ts'
import { inTurn, type Sample } from './sample.ts'

type Keys = Pick<Sample, 'publicKey' | 'privateKey'>

/**
 * The unit of all other figures: one Ed25519 signature over 64 bytes, with a key that is ready. No
 * verifier can be faster. Signatures differ from call to call, as they do in life: a processor
 * learns its way through a single one, and is some 4 % faster at it.
 */
export function rawVerify({ publicKey, privateKey }: Keys): Subject {
  const next = signatures(privateKey)
  return {
    name: 'raw crypto.verify',
    note: 'one Ed25519 signature over 64 bytes, the unit',
    run(times) {
      for (let i = 0; i < times; i++) {
        const { data, signature } = next()
        if (!verify(null, data, publicKey, signature)) throw new Error('the signature is invalid')
      }
    },
  }
}

/** The same signatures with libsodium; nothing if sodium-native has no build for this machine. */
export function rawSodium({ publicKey, privateKey }: Keys): Subject[] {
  const sodium = loadSodium()
  if (sodium === undefined) return []
  const next = signatures(privateKey)
  const key = Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url')
  return [
    {
      name: 'raw libsodium',
      note: 'the same signature with sodium-native',
      run(times) {
        for (let i = 0; i < times; i++) {
          const { data, signature } = next()
          if (!sodium.crypto_sign_verify_detached(signature, data, key))
            throw new Error('the signature is invalid')
        }
      },
    },
  ]
}

function signatures(privateKey: Sample['privateKey']) {
  return inTurn(
    Array.from({ length: 1000 }, () => {
      const data = randomBytes(64)
      return { data, signature: sign(null, data, privateKey) }
    }),
  )
}
