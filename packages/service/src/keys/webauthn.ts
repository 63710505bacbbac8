import { isUtf8 } from 'node:buffer'
import type { AddPasskeyRequest, PasskeyAssertion } from '@countersign/core/contract'
import type { PasskeyPlace } from '../http/passkey-place.ts'
import type { Passkey } from '../store/operations/passkeys.ts'
import { isSigned, parseCoseKey } from './cose-key.ts'

/** COSE: Ed25519, P-256 and RSA, which Windows still needs. */
export const ALGORITHMS: readonly number[] = [-8, -7, -257]

/** What the browser says about a ceremony, before anything is verified. */
export interface ClientData {
  readonly challenge: string
}

/**
 * What the browser has signed. Undefined for other text, and for a page in a frame of another
 * origin: the library accepts those when the browser does not name the outer page.
 */
export function parseClientData(text: string): ClientData | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (!isUtf8(bytes)) return undefined
  try {
    const said: unknown = JSON.parse(bytes.toString('utf8'))
    if (typeof said !== 'object' || said === null || !('challenge' in said)) return undefined
    const { challenge } = said
    const crossOrigin = 'crossOrigin' in said ? said.crossOrigin : false
    return typeof challenge === 'string' && crossOrigin === false ? { challenge } : undefined
  } catch {
    return undefined
  }
}

/**
 * Verifies that the authenticator of this passkey has answered the challenge, at this origin, and
 * has verified its user. Returns its new counter, or undefined.
 */
export async function verifyAssertion(
  assertion: PasskeyAssertion,
  passkey: Passkey,
  challenge: string,
  { origin, rpId }: PasskeyPlace,
): Promise<number | undefined> {
  const { credential_id: id, client_data, authenticator_data, signature, user_handle } = assertion
  const isOwners = Buffer.from(user_handle, 'base64url').toString('utf8') === passkey.personId
  if (passkey.credentialId !== id || passkey.rpId !== rpId || !isOwners) return undefined
  const { verifyAuthenticationResponse } = await loadLibrary()
  const publicKey = new Uint8Array(Buffer.from(passkey.publicKey, 'base64url'))
  try {
    // Besides the library, which accepts more encodings of one signature.
    const signed = [authenticator_data, client_data, signature].map((text) => Buffer.from(text, 'base64url'))
    if (!isSigned(await parseCoseKey(publicKey), ...(signed as [Buffer, Buffer, Buffer]))) return undefined
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: client_data,
          authenticatorData: authenticator_data,
          signature,
          userHandle: user_handle,
        },
      },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      credential: {
        id,
        publicKey,
        counter: passkey.counter,
      },
    })
    return verified && authenticationInfo.userVerified ? authenticationInfo.newCounter : undefined
  } catch {
    // The library throws for everything that is not as it should be, and for malformed bytes.
    return undefined
  }
}

/**
 * Verifies that an authenticator has created a passkey for this challenge, at this origin, and has
 * verified its user. Returns the passkey, or undefined.
 */
export async function verifyNewPasskey(
  { client_data, attestation }: Pick<AddPasskeyRequest, 'client_data' | 'attestation'>,
  challenge: string,
  { origin, rpId }: PasskeyPlace,
): Promise<Pick<Passkey, 'credentialId' | 'publicKey' | 'counter'> | undefined> {
  const { verifyRegistrationResponse } = await loadLibrary()
  try {
    const id = await findCredentialId(attestation)
    if (id === undefined) return undefined
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: { clientDataJSON: client_data, attestationObject: attestation },
      },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...ALGORITHMS],
    })
    if (!verified || !registrationInfo.userVerified) return undefined
    const { credential } = registrationInfo
    await parseCoseKey(credential.publicKey)
    return {
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
    }
  } catch {
    return undefined
  }
}

/**
 * The id in an attestation object without certificates. We ask for none, so browsers remove them;
 * with one, the library would parse ASN.1 and fetch lists of revoked certificates from addresses
 * that the sender chooses.
 */
async function findCredentialId(attestation: string): Promise<string | undefined> {
  const { decodeAttestationObject, parseAuthenticatorData } = await import('@simplewebauthn/server/helpers')
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestation, 'base64url')))
  const format = decoded.get('fmt')
  const statement: unknown = decoded.get('attStmt')
  if (!(statement instanceof Map)) return undefined
  const isPlain =
    (format === 'none' && statement.size === 0) || (format === 'packed' && !statement.get('x5c'))
  if (!isPlain) return undefined
  const { credentialID } = parseAuthenticatorData(decoded.get('authData'))
  return credentialID && Buffer.from(credentialID).toString('base64url')
}

/** Loaded when it is first needed: it brings parsers of certificates, which take a while. */
async function loadLibrary(): Promise<typeof import('@simplewebauthn/server')> {
  return import('@simplewebauthn/server')
}
