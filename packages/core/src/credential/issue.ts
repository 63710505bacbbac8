import type { JsonObject } from '../encoding/json.ts'
import { formatTime, isWritableTime } from '../encoding/rfc3339.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { parseDidKey } from '../proof/did.ts'
import type { PrivateKey } from '../proof/keys.ts'
import { signDocument } from '../proof/sign.ts'
import { CREDENTIAL_CONTEXT, CREDENTIAL_TYPE } from './credential.ts'
import {
  credentialDid,
  parseCredentialId,
  parsePermissionId,
  parsePpid,
  parseScopeList,
  parseSiteId,
} from './ids.ts'
import { CREDENTIAL_BYTES_MAX } from './limits.ts'
import { readCredentialObject } from './read.ts'

/**
 * What a new credential grants to which user. Ids are plain strings here; they are validated when
 * the credential is issued.
 */
export interface Grant {
  readonly credentialId: string
  readonly ppid: string
  readonly siteId: string
  readonly scope: readonly string[]
  readonly permissionId?: string
  /** The `did:key` of the holder, who must then sign every request with that key. */
  readonly holderKey?: string
  /** Whether the holder may delegate a narrower credential. Requires a holder key. */
  readonly delegable?: boolean
  readonly validFromMs: number
  readonly validUntilMs: number
}

export interface Signer {
  readonly issuer: string
  /** The full DID URL of the key: `issuer#fragment`. */
  readonly verificationMethod: string
  readonly key: PrivateKey
  readonly createdMs: number
}

/**
 * Signs an access credential. Throws a TypeError that lists all mistakes in the grant. Every
 * credential it returns can be parsed again.
 */
export async function issueCredential(grant: Grant, signer: Signer): Promise<JsonObject> {
  return signCredential(grant, signer, undefined)
}

/**
 * Signs roots and delegated credentials; `parent` is the signed credential that this one was
 * delegated from.
 */
export async function signCredential(
  grant: Grant,
  signer: Signer,
  parent: JsonObject | undefined,
): Promise<JsonObject> {
  const mistakes = findMistakes(grant, signer)
  if (mistakes.length > 0) throw new TypeError(`cannot issue this credential: ${mistakes.join('; ')}`)
  const { issuer, verificationMethod, key, createdMs } = signer
  const signed = await signDocument(toDocument(grant, issuer, parent), { key, verificationMethod, createdMs })
  const read = readCredentialObject(signed)
  if ('ok' in read) throw new TypeError(`cannot issue this credential: ${read.detail}`)
  const bytes = encodeUtf8(JSON.stringify(signed)).length
  if (bytes > CREDENTIAL_BYTES_MAX)
    throw new TypeError(
      `cannot issue this credential: it has ${bytes} bytes; at most ${CREDENTIAL_BYTES_MAX} are accepted`,
    )
  return signed
}

function findMistakes(grant: Grant, signer: Signer): string[] {
  const { credentialId, ppid, siteId, scope, permissionId, holderKey, delegable, validFromMs, validUntilMs } =
    grant
  const mistakes: (string | false)[] = [
    parseCredentialId(credentialId) === undefined &&
      'credentialId must be cred_ and 8 to 64 letters, digits, - or _',
    parsePpid(ppid) === undefined && 'ppid must be did:service:ppid_ and 8 to 128 letters, digits, - or _',
    parseSiteId(siteId) === undefined && 'siteId must be a lower-case host name',
    parseScopeList(scope) === undefined && 'scope must be a list of at most 32 different scopes',
    permissionId !== undefined &&
      parsePermissionId(permissionId) === undefined &&
      'permissionId must be 1 to 64 letters, digits or _.:-',
    holderKey !== undefined &&
      parseDidKey(holderKey) === undefined &&
      'holderKey must be a did:key with a valid key',
    delegable === true && holderKey === undefined && 'only a credential with a holderKey can be delegable',
    !isWritableTime(validFromMs) && 'validFromMs must be milliseconds since 1970, in the years 0 to 9999',
    !isWritableTime(validUntilMs) && 'validUntilMs must be milliseconds since 1970, in the years 0 to 9999',
    !(validFromMs < validUntilMs) && 'validUntilMs must be later than validFromMs',
    !isWritableTime(signer.createdMs) && 'createdMs must be milliseconds since 1970, in the years 0 to 9999',
    !signer.verificationMethod.startsWith(`${signer.issuer}#`) &&
      'verificationMethod must be a key of the issuer',
  ]
  return mistakes.filter((mistake) => mistake !== false)
}

function toDocument(grant: Grant, issuer: string, parent: JsonObject | undefined): JsonObject {
  return {
    '@context': [...CREDENTIAL_CONTEXT],
    id: credentialDid(grant.credentialId as never),
    type: [...CREDENTIAL_TYPE],
    issuer,
    validFrom: formatTime(grant.validFromMs),
    validUntil: formatTime(grant.validUntilMs),
    credentialSubject: {
      id: grant.ppid,
      site_id: grant.siteId,
      scope: [...grant.scope],
      ...(grant.permissionId === undefined ? {} : { permission_id: grant.permissionId }),
      ...(grant.holderKey === undefined ? {} : { holder_key: grant.holderKey }),
      ...(grant.delegable === true ? { delegable: true } : {}),
    },
    ...(parent === undefined ? {} : { parent }),
  }
}
