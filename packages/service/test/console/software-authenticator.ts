import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import type { AddPasskeyRequest, PasskeyAssertion } from '@countersign/core/contract'
import { isoCBOR } from '@simplewebauthn/server/helpers'

/** What a browser and an authenticator say in a ceremony. A forgery changes one of them. */
export interface Ceremony {
  readonly challenge: string
  readonly origin: string
  readonly rpId: string
  readonly type?: string
  readonly crossOrigin?: boolean
  /** Bits: 1 present, 4 verified, 64 with a new key. */
  readonly flags?: number
  readonly counter?: number
  readonly userHandle?: string
  readonly credentialId?: Buffer
  readonly key?: KeyObject
  readonly more?: Buffer
  readonly fmt?: string
  readonly attStmt?: Map<string, unknown>
  readonly alg?: number
}

/** An authenticator without a device: it signs whatever a test wants. */
export class SoftwareAuthenticator {
  readonly credentialId = randomBytes(32)
  readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly userHandle: string
  counter = 0

  constructor(personId: string) {
    this.userHandle = personId
  }

  create(ceremony: Ceremony): Pick<AddPasskeyRequest, 'client_data' | 'attestation'> {
    const { fmt = 'none', attStmt = new Map(), credentialId = this.credentialId, alg = -7 } = ceremony
    const jwk = this.keys.publicKey.export({ format: 'jwk' })
    const cose = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, alg],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(jwk.x ?? '', 'base64url'))],
      [-3, new Uint8Array(Buffer.from(jwk.y ?? '', 'base64url'))],
    ])
    const length = Buffer.alloc(2)
    length.writeUInt16BE(credentialId.length)
    const attested = Buffer.concat([Buffer.alloc(16), length, credentialId, isoCBOR.encode(cose as never)])
    const authData = Buffer.concat([this.#data({ flags: 0x45, ...ceremony }), attested])
    const object = new Map<string, unknown>([
      ['fmt', fmt],
      ['attStmt', attStmt],
      ['authData', new Uint8Array(authData)],
    ])
    return {
      client_data: toClientData({ type: 'webauthn.create', ...ceremony }),
      attestation: Buffer.from(isoCBOR.encode(object as never)).toString('base64url'),
    }
  }

  assert(ceremony: Ceremony): PasskeyAssertion {
    const { key = this.keys.privateKey, credentialId = this.credentialId } = ceremony
    const data = this.#data({ flags: 0x05, ...ceremony })
    const clientData = toClientData({ type: 'webauthn.get', ...ceremony })
    const hash = createHash('sha256').update(Buffer.from(clientData, 'base64url')).digest()
    return {
      credential_id: credentialId.toString('base64url'),
      client_data: clientData,
      authenticator_data: data.toString('base64url'),
      signature: sign('sha256', Buffer.concat([data, hash]), key).toString('base64url'),
      user_handle: Buffer.from(ceremony.userHandle ?? this.userHandle).toString('base64url'),
    }
  }

  #data({ rpId, flags = 0, counter = this.counter, more = Buffer.alloc(0) }: Ceremony): Buffer {
    const tail = Buffer.alloc(5)
    tail[0] = flags
    tail.writeUInt32BE(counter, 1)
    return Buffer.concat([createHash('sha256').update(rpId).digest(), tail, more])
  }
}

export function otherKey(): KeyObject {
  return createPrivateKey(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' }),
  )
}

function toClientData({ type, challenge, origin, crossOrigin = false }: Ceremony): string {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin })).toString('base64url')
}
