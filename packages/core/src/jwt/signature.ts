import { crypto } from '../proof/crypto.ts'
import type { JwsAlgorithm } from '../proof/crypto-port.ts'
import type { JwtKey } from './jwk.ts'
import { toSignedBytes, type UnverifiedJwt } from './read.ts'

/**
 * Whether this key signed the token, with the algorithm of the key. The algorithm that the token
 * names must be that one; it is never used to choose another.
 */
export function verifyJwtSignature(jwt: UnverifiedJwt, key: JwtKey): boolean | Promise<boolean> {
  if (!fitsAlgorithm(key, jwt.header.alg)) return false
  const data = toSignedBytes(jwt)
  return key.publicKey === undefined
    ? crypto.verifyJws(key as typeof key & { algorithm: JwsAlgorithm }, data, jwt.signature)
    : crypto.verify(key.publicKey, data, jwt.signature)
}

/** RFC 9864 calls EdDSA with Ed25519 by the name of the curve, too. */
export function fitsAlgorithm({ algorithm }: JwtKey, alg: unknown): boolean {
  return alg === algorithm || (algorithm === 'EdDSA' && alg === 'Ed25519')
}
