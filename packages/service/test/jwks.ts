import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto'

export type Jwk = Readonly<Record<string, unknown>>

/**
 * A new key of an OAuth issuer. `EC` is P-256, `OKP` is Ed25519. RSA keys take long to make: there
 * are two, in turn.
 */
export function newJwk(
  type: 'RSA' | 'EC' | 'P-384' | 'OKP',
  members: object = {},
  half: 'public' | 'private' = 'public',
): Jwk {
  const pair = newPair(type)
  const key = half === 'public' ? pair.publicKey : pair.privateKey
  return { ...key.export({ format: 'jwk' }), ...members }
}

const rsaPairs: KeyPairKeyObjectResult[] = []
let rsaAsked = 0

function newPair(type: 'RSA' | 'EC' | 'P-384' | 'OKP') {
  if (type === 'RSA') {
    const turn = rsaAsked++ % 2
    return (rsaPairs[turn] ??= generateKeyPairSync('rsa', { modulusLength: 2048 }))
  }
  if (type === 'OKP') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('ec', { namedCurve: type === 'EC' ? 'P-256' : 'P-384' })
}
