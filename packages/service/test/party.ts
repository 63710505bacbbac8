import {
  credentialHeader,
  delegateCredential,
  type Grant,
  issueCredential,
  type JsonObject,
} from '@countersign/core'
import { NOW, newCredentialId, newParty, newPpid, type Party, toSigner } from '../../core/test/sample.ts'

export { NOW, newCredentialId, newParty, newPpid, type Party }

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
  const document = await issueCredential(full, toSigner(issuer, createdMs))
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
