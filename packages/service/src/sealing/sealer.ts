import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from 'node:crypto'

/**
 * Encrypts secrets in the store. Sealed text opens only under the same master key and for the same
 * purpose, so that it cannot be used in another place.
 */
export interface Sealer {
  /** Identifies the master key without revealing it. */
  readonly keyName: string
  /** `purpose` names the secret, with its owner if there are many: `pairwise:shop.example`. */
  seal(purpose: string, plain: string): string
  /** Throws a `SealBroken`, which reveals nothing of the content, for any other text. */
  open(purpose: string, sealed: string): string
  /** A MAC of 16 bytes, which proves that the service has written the text. */
  mac(purpose: string, text: string): Uint8Array
}

/**
 * Sealed text that does not open: another master key, another purpose, or corruption. An error of
 * the configuration or the store, never of a caller.
 */
export class SealBroken extends Error {
  override readonly name: string = 'SealBroken'
}

/** The master key is another one than the text was sealed under. */
export class OtherMasterKey extends SealBroken {
  override readonly name: string = 'OtherMasterKey'
}

/** The name of the master key that sealed a text. Undefined for other text. */
export function sealedUnder(sealed: string): string | undefined {
  return SEALED.exec(sealed)?.[1]
}

const VERSION = 'v1'
const MASTER_KEY_BYTES = 32
const SALT_BYTES = 16
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const MAC_BYTES = 16
const SEALED = /^v1\.([0-9a-f]{8})\.([A-Za-z0-9_-]+)$/

/**
 * AES-256-GCM. Every text has its own key, derived (RFC 5869) from the master key and 16 random
 * bytes, so that no number of texts comes near the limit of random nonces under one key (NIST SP
 * 800-38D §8.3). Throws a TypeError unless the master key has 32 bytes.
 */
export function createSealer(masterKey: Uint8Array): Sealer {
  if (masterKey.length !== MASTER_KEY_BYTES)
    throw new TypeError(`the master key must have ${MASTER_KEY_BYTES} bytes`)
  // A copy, so that no other code changes it. The name of the key distinguishes a wrong key from
  // corruption.
  // As a key object, as all keys here: Node takes 20 to 40 µs longer with bytes.
  const master = createSecretKey(Buffer.from(masterKey))
  const masterName = Buffer.from(hkdfSync('sha256', master, '', 'countersign master key name', 4)).toString(
    'hex',
  )
  const macKey = createSecretKey(Buffer.from(hkdfSync('sha256', master, '', 'countersign mark', KEY_BYTES)))

  const derive = (salt: Uint8Array) => {
    const bytes = Buffer.from(hkdfSync('sha256', master, salt, 'countersign seal v1', KEY_BYTES + IV_BYTES))
    return { key: createSecretKey(bytes.subarray(0, KEY_BYTES)), iv: bytes.subarray(KEY_BYTES) }
  }

  return {
    keyName: masterName,
    seal(purpose, plain) {
      const salt = randomBytes(SALT_BYTES)
      const { key, iv } = derive(salt)
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(
        Buffer.from(purpose),
      )
      const locked = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `${VERSION}.${masterName}.${Buffer.concat([salt, locked, cipher.getAuthTag()]).toString('base64url')}`
    },
    open(purpose, sealed) {
      const [, name, body] = SEALED.exec(sealed) ?? []
      if (name === undefined || body === undefined) throw new SealBroken('this is not sealed text')
      if (name !== masterName)
        throw new OtherMasterKey(
          `sealed under another master key (its name is ${name}, that of the configured one ${masterName}): set COUNTERSIGN_MASTER_KEY or COUNTERSIGN_MASTER_KEY_FILE to the key of this store`,
        )
      const bytes = Buffer.from(body, 'base64url')
      if (bytes.length < SALT_BYTES + TAG_BYTES) throw new SealBroken('this is not sealed text')
      const { key, iv } = derive(bytes.subarray(0, SALT_BYTES))
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(
        Buffer.from(purpose),
      )
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        return (
          decipher.update(bytes.subarray(SALT_BYTES, -TAG_BYTES)).toString('utf8') + decipher.final('utf8')
        )
      } catch {
        throw new SealBroken('sealed text does not open: it is damaged, or was sealed for another purpose')
      }
    },
    mac(purpose, text) {
      return createHmac('sha256', macKey)
        .update(`${Buffer.byteLength(purpose)}:${purpose}`)
        .update(text)
        .digest()
        .subarray(0, MAC_BYTES)
    },
  }
}
