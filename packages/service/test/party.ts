import {
  credentialHeader,
  delegateCredential,
  didKey,
  didKeyMethod,
  type Grant,
  generatePrivateKey,
  issueCredential,
  type JsonObject,
  type PrivateKey,
} from '@countersign/core'

/** The moment at which tests begin. Clocks of tests go when they are told to. */
export const NOW = Date.UTC(2026, 10, 14, 12, 0, 0)

/** A party with a key: an issuer or a holder. */
export interface Party {
  readonly key: PrivateKey
  readonly did: string
  readonly method: string
  /** The fragment of its method, which is also its Multikey. */
  readonly keyId: string
}

export async function newParty(): Promise<Party> {
  const key = await generatePrivateKey('Ed25519', { extractable: true })
  const method = didKeyMethod(key.publicKey)
  return { key, did: didKey(key.publicKey), method, keyId: method.slice(method.indexOf('#') + 1) }
}

let made = 0
export const newCredentialId = () => `cred_${String(++made).padStart(26, '0')}`
export const newPpid = () => `did:service:ppid_${String(++made).padStart(52, 'a')}`

export interface Made {
  readonly document: JsonObject
  readonly header: string
  readonly id: string
  readonly ppid: string
}

/** A good credential, valid around `nowMs`. */
export async function issued(
  issuer: Party,
  changes: Partial<Grant> & { nowMs?: number; createdMs?: number } = {},
): Promise<Made> {
  const { nowMs = NOW, createdMs = nowMs - 1000, ...grant } = changes
  const id = grant.credentialId ?? newCredentialId()
  const ppid = grant.ppid ?? newPpid()
  const full: Grant = {
    siteId: 'a.example',
    scope: ['orders:read', 'orders:write'],
    permissionId: 'perm_orders',
    validFromMs: nowMs - 60_000,
    validUntilMs: nowMs + 3_600_000,
    ...grant,
    credentialId: id,
    ppid,
  }
  const document = await issueCredential(full, {
    issuer: issuer.did,
    verificationMethod: issuer.method,
    key: issuer.key,
    createdMs,
  })
  return { document, header: credentialHeader(document), id, ppid }
}

/** What `from` delegates to `to`. */
export async function delegated(
  parent: Made,
  from: Party,
  to: Party,
  changes: { credentialId?: string; scope?: string[]; delegable?: boolean; nowMs?: number } = {},
): Promise<Made> {
  const {
    credentialId: id = newCredentialId(),
    scope = ['orders:read'],
    delegable = false,
    nowMs = NOW,
  } = changes
  const document = await delegateCredential(
    parent.document,
    {
      credentialId: id,
      scope,
      holderKey: to.did,
      delegable,
      validFromMs: nowMs - 60_000,
      validUntilMs: nowMs + 1_800_000,
    },
    { key: from.key, createdMs: nowMs - 500 },
  )
  return { document, header: credentialHeader(document), id, ppid: parent.ppid }
}
