import { randomBytes, sign, verify } from 'node:crypto'
import type { Subject } from './measure.ts'
import { inTurn, type Sample } from './sample.ts'

/**
 * The unit of all other figures: one Ed25519 signature over 64 bytes, with a key that is ready. No
 * verifier can be faster. Signatures differ from call to call, as they do in life: a processor
 * learns its way through a single one, and is some 4 % faster at it.
 */
export function rawVerify({ publicKey, privateKey }: Pick<Sample, 'publicKey' | 'privateKey'>): Subject {
  const next = inTurn(
    Array.from({ length: 1000 }, () => {
      const data = randomBytes(64)
      return { data, signature: sign(null, data, privateKey) }
    }),
  )
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
