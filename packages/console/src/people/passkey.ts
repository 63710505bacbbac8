import type {
  AddPasskeyRequest,
  NewPasskeyChallenge,
  Passkey,
  PasskeyAssertion,
  PasskeyChallenge,
} from '@countersign/core/contract'
import { send } from '../api/call.ts'
import { say } from '../say.ts'

/** The browser or the person has ended the ceremony: nothing was changed. */
class NotConfirmed extends Error {}

export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && isSecureContext
}

/** Signs in with any passkey for this host name. The cookie of the new session is set then. */
export async function signInWithPasskey(): Promise<void> {
  const challenge = await post<PasskeyChallenge>('/console/session/challenge')
  await post('/console/session/passkey', await assert(challenge))
}

/** Confirms this session with a passkey of its person. */
export async function confirmWithPasskey(): Promise<void> {
  const challenge = await post<PasskeyChallenge>('/console/session/step-up/challenge')
  await post('/console/session/step-up', await assert(challenge))
}

/** Creates a passkey in this browser or a device beside it, and adds it to the person. */
export async function createPasskey(name: string): Promise<Passkey> {
  const challenge = await post<NewPasskeyChallenge>('/console/passkeys/challenge')
  return post<Passkey>('/console/passkeys', { name, ...(await create(challenge)) })
}

async function post<T>(path: string, body?: unknown): Promise<T> {
  const answer = await send(path, { method: 'POST', ...(body !== undefined && { body }) })
  return (await answer.json()) as T
}

async function assert(given: PasskeyChallenge): Promise<PasskeyAssertion> {
  const found = await ask(() =>
    navigator.credentials.get({
      publicKey: {
        challenge: toBytes(given.challenge),
        rpId: given.rp_id,
        userVerification: 'required',
        allowCredentials: given.credential_ids.map((id) => ({ type: 'public-key', id: toBytes(id) })),
        timeout: timeLeft(given.expires_at),
      },
    }),
  )
  const { response } = found
  if (!(response instanceof AuthenticatorAssertionResponse)) throw new NotConfirmed(NO_ANSWER)
  return {
    credential_id: toText(found.rawId),
    client_data: toText(response.clientDataJSON),
    authenticator_data: toText(response.authenticatorData),
    signature: toText(response.signature),
    user_handle: toText(response.userHandle ?? new ArrayBuffer(0)),
  }
}

async function create(
  given: NewPasskeyChallenge,
): Promise<Pick<AddPasskeyRequest, 'client_data' | 'attestation'>> {
  const found = await ask(() =>
    navigator.credentials.create({
      publicKey: {
        challenge: toBytes(given.challenge),
        rp: { id: given.rp_id, name: 'Countersign' },
        user: { id: toBytes(given.user_handle), name: given.user_name, displayName: given.user_name },
        pubKeyCredParams: given.algorithms.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: given.credential_ids.map((id) => ({ type: 'public-key', id: toBytes(id) })),
        authenticatorSelection: {
          residentKey: 'required',
          requireResidentKey: true,
          userVerification: 'required',
        },
        attestation: 'none',
        timeout: timeLeft(given.expires_at),
      },
    }),
  )
  const { response } = found
  if (!(response instanceof AuthenticatorAttestationResponse)) throw new NotConfirmed(NO_ANSWER)
  return { client_data: toText(response.clientDataJSON), attestation: toText(response.attestationObject) }
}

const NO_ANSWER = say('The passkey was not used, so nothing was changed.')

async function ask(ceremony: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  let found: Credential | null
  try {
    found = await ceremony()
  } catch (fault) {
    const name = fault instanceof DOMException ? fault.name : ''
    if (name === 'InvalidStateError')
      throw new NotConfirmed(say('This device has a passkey for you already.'), { cause: fault })
    throw new NotConfirmed(NO_ANSWER, { cause: fault })
  }
  if (!(found instanceof PublicKeyCredential)) throw new NotConfirmed(NO_ANSWER)
  return found
}

/** The browser should give up with the challenge; clocks may differ, so between 30 s and 5 min. */
function timeLeft(expiresAt: string): number {
  return Math.min(300_000, Math.max(30_000, Date.parse(expiresAt) - Date.now()))
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (char) => char.charCodeAt(0))
}

function toText(bytes: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join('')
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
