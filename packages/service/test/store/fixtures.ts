import { createHash, randomBytes } from 'node:crypto'
import {
  type CredentialId,
  generatePrivateKey,
  type KeyState,
  type PermissionId,
  type Ppid,
  parseCredentialId,
  parsePpid,
  parseScopeList,
  parseSiteId,
  type SiteId,
} from '@countersign/core'
import { expect } from 'vitest'
import type { AuditContext } from '../../src/store/operations/audit.ts'
import type { SeenCredential } from '../../src/store/operations/credentials.ts'
import type { NewIssuer } from '../../src/store/operations/issuers.ts'
import type { NewSite } from '../../src/store/operations/sites.ts'
import type { NewToken } from '../../src/store/operations/tokens.ts'

/** A moment in the middle of a second. */
export const NOW = Date.UTC(2026, 0, 1, 12) + 250
export const DAY = 86_400_000

let count = 0
const next = () => (++count).toString(36).padStart(4, '0') + randomBytes(6).toString('hex')

export function context(atMs = NOW, actor = 'operator'): AuditContext {
  return { actor, atMs, requestId: 'req-1' }
}

/** Fails in the last statement of every verb: an audit row must have an actor. */
export function failingAct(atMs = NOW): AuditContext {
  return { actor: null as unknown as string, atMs, requestId: undefined }
}

export function siteId(name = `s${next()}.example`): SiteId {
  return present(parseSiteId(name))
}

export function ppid(): Ppid {
  return present(parsePpid(`did:service:ppid_${next()}`))
}

export function credentialId(): CredentialId {
  return present(parseCredentialId(`cred_${next()}`))
}

export function sha256(text = next()): string {
  return createHash('sha256').update(text).digest('hex')
}

export function newSite(fields: Partial<NewSite> = {}): NewSite {
  return {
    siteId: siteId(),
    name: 'A site',
    returnUrls: ['https://a.example/back'],
    bearer: 'on',
    holderProof: 'optional',
    delegation: 'on',
    credentialTtlSecondsMax: undefined,
    pairwiseSecretSealed: 'sealed',
    ...fields,
  }
}

export async function newKey(id = 'key-1'): Promise<KeyState> {
  const { publicKey } = await generatePrivateKey('Ed25519')
  return { id, key: publicKey.multikey, status: 'active' }
}

export async function newIssuer(site: SiteId, fields: Partial<NewIssuer> = {}): Promise<NewIssuer> {
  return {
    siteId: site,
    issuer: `did:web:${next()}.example`,
    keys: [await newKey()],
    scope: parseScopeList(['read', 'write']),
    credentialTtlSecondsMax: undefined,
    label: undefined,
    fetched: false,
    ...fields,
  }
}

export function seen(
  site: SiteId,
  fields: Partial<SeenCredential> & { readonly createdMs?: number } = {},
): SeenCredential {
  const { createdMs = NOW - 60_000, ...rest } = fields
  const id = rest.credentialId ?? credentialId()
  return {
    siteId: site,
    credentialId: id,
    ppid: ppid(),
    issuer: 'did:web:issuer.example',
    scope: present(parseScopeList(['read'])),
    permissionId: 'perm_default' as PermissionId,
    chain: [{ credentialId: id, createdMs }],
    validFromMs: NOW - 60_000,
    validUntilMs: NOW + DAY,
    holderBound: false,
    source: 'presented',
    ...rest,
  }
}

export function newToken(credential: SeenCredential, fields: Partial<NewToken> = {}): NewToken {
  return {
    sha256: sha256(),
    jti: `tok_${next()}`,
    siteId: credential.siteId,
    ppid: credential.ppid,
    scope: credential.scope,
    permissionId: credential.permissionId,
    chain: credential.chain,
    issuer: credential.issuer,
    issuerKey: `${credential.issuer}#key-1`,
    issuedAtMs: NOW,
    expiresAtMs: NOW + 900_000,
    ...fields,
  }
}

function present<T>(value: T | undefined): T {
  expect(value).toBeDefined()
  return value as T
}

/** The master key of test stores, and the same as an operator would set it. */
export const MASTER_KEY_HEX = '0123456789abcdef'.repeat(4)
export const MASTER_KEY: Uint8Array = Buffer.from(MASTER_KEY_HEX, 'hex')

export const quietLog = { info: () => {}, warn: () => {}, error: () => {} }
