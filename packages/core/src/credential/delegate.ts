import type { JsonObject } from '../encoding/json.ts'
import { didKey, didKeyMethod } from '../proof/did.ts'
import type { PrivateKey } from '../proof/keys.ts'
import { signCredential } from './issue.ts'
import { DELEGATION_DEPTH_MAX } from './limits.ts'
import { readCredentialObject } from './read.ts'

/** What the next holder gets. Everything else, such as user and site, comes from the parent. */
export interface DelegationTerms {
  readonly credentialId: string
  readonly scope: readonly string[]
  readonly holderKey: string
  readonly delegable?: boolean
  readonly validFromMs: number
  readonly validUntilMs: number
}

/**
 * Creates a narrower credential for another holder, offline. `key` is the holder key of `parent`.
 * Throws a TypeError if no verifier would accept the result: more scope, a longer life, a parent
 * that must not be delegated, or another key.
 */
export async function delegateCredential(
  parent: JsonObject,
  delegation: DelegationTerms,
  { key, createdMs }: { key: PrivateKey; createdMs: number },
): Promise<JsonObject> {
  const read = readCredentialObject(parent)
  if ('ok' in read) throw new TypeError(`cannot delegate this credential: ${read.detail}`)
  const { credential } = read
  const issuer = didKey(key.publicKey)
  let depth = 1
  let isIdTaken: boolean = credential.id === delegation.credentialId
  for (let link = credential.parent; link !== undefined; link = link.parent) {
    depth++
    isIdTaken ||= link.id === delegation.credentialId
  }
  const mistakes: (string | false)[] = [
    !credential.delegable && 'it is not delegable',
    isIdTaken && 'the id is already used in its chain',
    credential.holderKey !== issuer && 'the key is not its holder key',
    depth > DELEGATION_DEPTH_MAX && `it has been delegated ${DELEGATION_DEPTH_MAX} times already`,
    delegation.holderKey === undefined && 'holderKey of the next holder is missing',
    !delegation.scope.every((scope) => (credential.scope as readonly string[]).includes(scope)) &&
      'it does not have that scope',
    !(delegation.validUntilMs <= credential.validUntilMs) && 'it expires earlier',
  ]
  const found = mistakes.filter((mistake) => mistake !== false)
  if (found.length > 0) throw new TypeError(`cannot delegate this credential: ${found.join('; ')}`)
  // Copied member by member: an untyped caller may pass other members, which must not override
  // those of the parent.
  const grant = {
    credentialId: delegation.credentialId,
    scope: delegation.scope,
    holderKey: delegation.holderKey,
    delegable: delegation.delegable === true,
    validFromMs: delegation.validFromMs,
    validUntilMs: delegation.validUntilMs,
    ppid: credential.ppid,
    siteId: credential.site,
    ...(credential.permissionId === undefined ? {} : { permissionId: credential.permissionId }),
  }
  return signCredential(
    grant,
    { issuer, verificationMethod: didKeyMethod(key.publicKey), key, createdMs },
    parent,
  )
}
