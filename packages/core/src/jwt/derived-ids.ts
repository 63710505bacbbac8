import { type CredentialId, type Ppid, parseCredentialId, parsePpid } from '../credential/ids.ts'
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { hmacSha256 } from '../proof/hmac.ts'

/** 32 random bytes of a site. Guards get them with the snapshot; they are never public. */
export type SubjectKey = Uint8Array

const SUBJECT_KEY_BYTES = 32

export function parseSubjectKey(text: unknown): SubjectKey | undefined {
  if (typeof text !== 'string' || text.length !== 43) return undefined
  const bytes = decodeBase64url(text)
  return bytes?.length === SUBJECT_KEY_BYTES ? bytes : undefined
}

/**
 * The id under which a user of an OAuth issuer is revoked. It says nothing about the user to
 * readers of the log, because it is an HMAC under a key of the site.
 */
export async function deriveSubjectPpid(key: SubjectKey, issuer: string, subject: string): Promise<Ppid> {
  return required(parsePpid(`did:service:ppid_j_${await derive(key, 'subject', issuer, subject)}`))
}

/** The id of a user that several issuers name by the `user_ref` of the site. */
export async function deriveUserRefPpid(key: SubjectKey, userRef: string): Promise<Ppid> {
  return required(parsePpid(`did:service:ppid_j_${await derive(key, 'user_ref', userRef)}`))
}

/** The id under which one token is revoked, by its `jti`. */
export async function deriveTokenId(key: SubjectKey, issuer: string, jti: string): Promise<CredentialId> {
  return required(parseCredentialId(`cred_jt_${await derive(key, 'jti', issuer, jti)}`))
}

/**
 * The id of a token without `jti`, from the text that is signed. The signature is left out: ECDSA
 * has a second valid signature for every first one.
 */
export async function deriveTextTokenId(
  key: SubjectKey,
  issuer: string,
  signingInput: string,
): Promise<CredentialId> {
  return required(parseCredentialId(`cred_jt_${await derive(key, 'text', issuer, signingInput)}`))
}

/** The id under which a session at the issuer is ended. */
export async function deriveSessionId(
  key: SubjectKey,
  issuer: string,
  session: string,
): Promise<CredentialId> {
  return required(parseCredentialId(`cred_js_${await derive(key, 'session', issuer, session)}`))
}

/** Each part has its length in front, so that no two lists of parts give the same bytes. */
async function derive(key: SubjectKey, label: string, ...parts: readonly string[]): Promise<string> {
  const pieces = [label, ...parts].map(encodeUtf8)
  const data = new Uint8Array(pieces.reduce((length, piece) => length + 4 + piece.length, 0))
  const lengths = new DataView(data.buffer)
  let at = 0
  for (const piece of pieces) {
    lengths.setUint32(at, piece.length)
    data.set(piece, at + 4)
    at += 4 + piece.length
  }
  return encodeBase64url(await hmacSha256(key, data))
}

function required<Value>(id: Value | undefined): Value {
  if (id === undefined) throw new Error('a derived id does not match its grammar')
  return id
}
