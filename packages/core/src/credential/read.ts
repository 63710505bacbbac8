import { decodeBase64url } from '../encoding/base64url.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../encoding/json.ts'
import { parseTime } from '../encoding/rfc3339.ts'
import { decodeUtf8 } from '../encoding/utf8.ts'
import { parseDidKey } from '../proof/did.ts'
import { findSuite } from '../proof/suites.ts'
import { CREDENTIAL_CONTEXT, CREDENTIAL_TYPE, type ProofClaims, type SignedCredential } from './credential.ts'
import { type Denial, deny } from './denial.ts'
import {
  isDerivedId,
  parseCredentialDid,
  parsePermissionId,
  parsePpid,
  parseScopeList,
  type Scope,
} from './ids.ts'
import {
  CREDENTIAL_HEADER_CHARS_MAX,
  CREDENTIAL_MEMBERS_MAX,
  DELEGATION_DEPTH_MAX,
  JSON_DEPTH_MAX,
} from './limits.ts'
import { findCredentialMistake, isJwtForm, JWT_MISTAKE } from './presentation.ts'

/**
 * Parses the value of `X-Service-Credential`: base64url of the UTF-8 JSON of the signed object.
 * Every step is strict. The result is what gets verified and used; the text is never parsed again.
 */
export function readCredentialHeader(header: string): SignedCredential | Denial {
  if (header.length > CREDENTIAL_HEADER_CHARS_MAX) {
    return deny(
      'header_too_large',
      `The credential header has more than ${CREDENTIAL_HEADER_CHARS_MAX} characters. Send a smaller credential.`,
    )
  }
  if (header.trim() === '')
    return deny(
      'credential_missing',
      'The request has no credential. Send a signed credential in X-Service-Credential.',
    )
  const bytes = decodeBase64url(header)
  if (bytes === undefined) return unreadable(header, 'X-Service-Credential is not base64url without padding')
  const text = decodeUtf8(bytes)
  if (text === undefined) return unreadable(header, 'it is not UTF-8')
  const parsed = parseJson(text, { depthMax: JSON_DEPTH_MAX, membersMax: CREDENTIAL_MEMBERS_MAX })
  if ('fault' in parsed)
    return unreadable(header, `it is not strict JSON: ${parsed.fault} near offset ${parsed.offset}`)
  const { value, hasPlainStrings } = parsed
  return isJsonObject(value) ? readLink(value, 0, hasPlainStrings) : malformed('it is not a JSON object')
}

/**
 * Parses a signed credential from a value that `parseJson` returned. Values from other parsers are
 * accepted too, but duplicate members cannot be detected in them: encode such an object and use
 * `readCredentialHeader`.
 */
export function readCredentialObject(value: JsonValue): SignedCredential | Denial {
  if (typeof value === 'string' && isJwtForm(value)) return deny('credential_malformed', JWT_MISTAKE)
  if (!isJsonObject(value)) return malformed('it is not a JSON object')
  const read = readLink(value, 0, false)
  if (!('ok' in read)) readObjects.add(read)
  return read
}

const readObjects = new WeakSet<object>()

/**
 * Whether `readCredentialObject` returned this object. Any other object could combine the claims of
 * one credential with the signature of another.
 */
export function isReadCredential(signed: SignedCredential): boolean {
  return readObjects.has(signed)
}

function unreadable(header: string, why: string): Denial {
  const mistake = findCredentialMistake(header)
  return mistake === undefined ? malformed(why) : deny('credential_malformed', mistake)
}

function malformed(why: string): Denial {
  return deny(
    'credential_malformed',
    `The credential is malformed: ${why}. Correct it, or request a new one from its issuer.`,
  )
}

function unsupported(why: string): Denial {
  return deny(
    'credential_unsupported',
    `The credential is not supported: ${why}. Request a supported one from its issuer.`,
  )
}

/** Parses one credential of a chain; `depth` is the number of credentials delegated from it. */
function readLink(document: JsonObject, depth: number, hasPlainStrings: boolean): SignedCredential | Denial {
  if (depth > DELEGATION_DEPTH_MAX) {
    return deny(
      'delegation_too_deep',
      `The delegation chain is too long. Delegate a credential at most ${DELEGATION_DEPTH_MAX} times.`,
    )
  }
  const envelope = checkEnvelope(document)
  if (envelope !== undefined) return envelope
  const proof = readProof(document)
  if ('ok' in proof) return proof
  const { credentialSubject: subject, issuer } = document
  if (!isJsonObject(subject)) return malformed('credentialSubject is missing or not an object')

  const id = parseCredentialDid(document.id)
  if (id === undefined) return malformed('id is not did:service:cred_… with 8 to 64 letters, digits, - or _')
  if (isDerivedId(id)) return malformed('id has the form of the ids that are derived from access tokens')
  if (typeof issuer !== 'string' || issuer === '') return malformed('issuer is not a string')
  const validFromMs = parseTime(document.validFrom)
  if (validFromMs === undefined)
    return malformed('validFrom is missing or not an RFC 3339 time in UTC with Z')
  const validUntilMs = parseTime(document.validUntil)
  if (validUntilMs === undefined)
    return malformed('validUntil is missing or not an RFC 3339 time in UTC with Z')
  if (validUntilMs < validFromMs) return malformed('validUntil is before validFrom')

  const ppid = parsePpid(subject.id)
  if (ppid === undefined)
    return malformed('credentialSubject.id is not did:service:ppid_… with 8 to 128 letters, digits, - or _')
  if (isDerivedId(ppid))
    return malformed('credentialSubject.id has the form of the ids that are derived from access tokens')
  if (typeof subject.site_id !== 'string')
    return malformed('credentialSubject.site_id is missing or not a string')
  const scope = parseScopeList(subject.scope)
  if (scope === undefined)
    return malformed('credentialSubject.scope is not a list of at most 32 different scopes')
  const permissionId =
    subject.permission_id === undefined ? undefined : parsePermissionId(subject.permission_id)
  if (permissionId === undefined && subject.permission_id !== undefined)
    return malformed('credentialSubject.permission_id is malformed')
  const { holder_key: holderKey, delegable = false } = subject
  if (holderKey !== undefined && !isHolderKey(holderKey))
    return malformed('credentialSubject.holder_key is not a did:key with a valid key')
  if (typeof delegable !== 'boolean') return malformed('credentialSubject.delegable is not true or false')

  const parent = readParent(document, depth, hasPlainStrings)
  if (parent !== undefined && 'ok' in parent) return parent
  return {
    credential: {
      id,
      issuer,
      ppid,
      site: subject.site_id,
      scope: scope as readonly Scope[],
      permissionId,
      holderKey,
      delegable,
      validFromMs,
      // The credential ends with its signature, if that expires earlier.
      validUntilMs: Math.min(validUntilMs, proof.expiresMs),
      createdMs: proof.createdMs,
      verificationMethod: proof.verificationMethod,
      parent: parent?.credential,
    },
    document,
    hasPlainStrings,
    proof,
    parent,
  }
}

function isHolderKey(value: JsonValue): value is string {
  return parseDidKey(value) !== undefined
}

function readParent(
  document: JsonObject,
  depth: number,
  hasPlainStrings: boolean,
): SignedCredential | Denial | undefined {
  if (document.parent === undefined) return undefined
  return isJsonObject(document.parent)
    ? readLink(document.parent, depth + 1, hasPlainStrings)
    : malformed('parent is not a signed credential')
}

function checkEnvelope(document: JsonObject): Denial | undefined {
  const { '@context': context, type } = document
  if (context === undefined) return malformed('@context is missing')
  if (!equalsList(context, CREDENTIAL_CONTEXT))
    return unsupported('@context is not exactly the two entries of an access credential')
  if (type === undefined) return malformed('type is missing')
  if (!equalsList(type, CREDENTIAL_TYPE))
    return unsupported('type is not exactly VerifiableCredential, AccessCredential')
  // Ignoring this member would ignore a revocation by the issuer.
  if (document.credentialStatus !== undefined)
    return unsupported('credentialStatus must be absent, because revocation works through this service')
  return undefined
}

function equalsList(value: JsonValue, expected: readonly string[]): boolean {
  return (
    Array.isArray(value) &&
    value.length === expected.length &&
    expected.every((entry, i) => value[i] === entry)
  )
}

interface ReadProof extends ProofClaims {
  readonly createdMs: number
  /** `proof.expires`, or infinity. */
  readonly expiresMs: number
  readonly verificationMethod: string
}

/**
 * Longer than any supported signature. Decoding base58 takes quadratic time, so the length is
 * checked first.
 */
const PROOF_VALUE = /^z[1-9A-HJ-NP-Za-km-z]{1,128}$/

function readProof({ proof, '@context': context }: JsonObject): ReadProof | Denial {
  if (Array.isArray(proof) && proof.length > 0) return unsupported('proof is not exactly one object')
  if (!isJsonObject(proof)) return malformed('proof is missing or not an object')
  const { type, cryptosuite, proofPurpose, proofValue, verificationMethod } = proof
  if (typeof type !== 'string') return malformed('proof.type is missing')
  if (type !== 'DataIntegrityProof') return unsupported('proof.type is not DataIntegrityProof')
  if (typeof cryptosuite !== 'string') return malformed('proof.cryptosuite is missing')
  if (findSuite(cryptosuite) === undefined) return unsupported('proof.cryptosuite is not supported')
  if (typeof proofPurpose !== 'string') return malformed('proof.proofPurpose is missing')
  if (typeof verificationMethod !== 'string') return malformed('proof.verificationMethod is missing')
  const createdMs = parseTime(proof.created)
  if (createdMs === undefined)
    return malformed('proof.created is missing or not an RFC 3339 time in UTC with Z')
  const expiresMs = proof.expires === undefined ? Number.POSITIVE_INFINITY : parseTime(proof.expires)
  if (expiresMs === undefined) return malformed('proof.expires is not an RFC 3339 time in UTC with Z')
  if (typeof proofValue !== 'string' || !PROOF_VALUE.test(proofValue))
    return malformed('proof.proofValue is not a base58btc multibase value')
  // The two contexts must be equal: neither may be extended after signing.
  if (proof['@context'] !== undefined && !equalsList(proof['@context'], context as string[])) {
    return unsupported('the @context of the proof differs from that of the credential')
  }
  return { cryptosuite, proofPurpose, proofValue, createdMs, expiresMs, verificationMethod }
}
