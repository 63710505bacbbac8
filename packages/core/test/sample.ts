import { credentialHeader } from '../src/credential/header.ts'
import type { CredentialId, PermissionId, Ppid, Scope, SiteId } from '../src/credential/ids.ts'
import { type Grant, issueCredential } from '../src/credential/issue.ts'
import type { JsonObject, JsonValue } from '../src/encoding/json.ts'
import { formatTime } from '../src/encoding/rfc3339.ts'
import { createMemoryNonces } from '../src/holder/nonces.ts'
import { holderRequestFrom } from '../src/holder/request.ts'
import { signRequest } from '../src/holder/sign.ts'
import type { SubjectKey } from '../src/jwt/derived-ids.ts'
import { didKey, didKeyMethod } from '../src/proof/did.ts'
import type { KeyAlgorithm, PrivateKey, PublicKey } from '../src/proof/keys.ts'
import { generatePrivateKey } from '../src/proof/private-key.ts'
import { signDocument } from '../src/proof/sign.ts'
import type { Demand } from '../src/verify/demand.ts'
import type { RevocationData } from '../src/verify/revocation-data.ts'
import type { TokenFacts } from '../src/verify/token.ts'
import type { OAuthIssuer, SiteData, SiteSettings, TrustedIssuer, TrustedKey } from '../src/verify/trust.ts'

/**
 * A valid credential at a site that trusts its issuer, and functions to change one thing of it. All
 * times are relative to one fixed time; nothing reads a clock.
 */
export const NOW = Date.UTC(2026, 10, 14, 12, 0, 0)
export const SITE = 'shop.example' as SiteId
export const READ = 'orders:read' as Scope
export const WRITE = 'orders:write' as Scope
export const EPOCH = '0123456789abcdef'

/** An issuer or a holder with its key. */
export interface Party {
  readonly key: PrivateKey
  readonly did: string
  readonly method: string
  /** The fragment of `method`. */
  readonly keyId: string
}

export async function newParty(algorithm: KeyAlgorithm = 'Ed25519'): Promise<Party> {
  const key = await generatePrivateKey(algorithm, { extractable: true })
  const { publicKey } = key
  return { key, did: didKey(publicKey), method: didKeyMethod(publicKey), keyId: publicKey.multikey }
}

let made = 0
/** Ids are numbered, so that failures are reproducible. */
export const newCredentialId = () => `cred_${String(++made).padStart(26, '0')}` as CredentialId
export const newPpid = () => `did:service:ppid_${String(++made).padStart(52, 'a')}` as Ppid
export const at = (seconds: number) => formatTime(NOW + seconds * 1000)

export function grant(changes: Partial<Grant> = {}): Grant {
  return {
    credentialId: newCredentialId(),
    ppid: newPpid(),
    siteId: SITE,
    scope: [READ, WRITE],
    permissionId: 'perm_orders',
    validFromMs: NOW - 60_000,
    validUntilMs: NOW + 3_600_000,
    ...changes,
  }
}

export const toSigner = ({ key, did, method }: Party, createdMs = NOW - 1000) => ({
  issuer: did,
  verificationMethod: method,
  key,
  createdMs,
})

export async function issue(issuer: Party, changes: Partial<Grant> = {}): Promise<JsonObject> {
  return issueCredential(grant(changes), toSigner(issuer))
}

/** Edits a copy of the document. */
export function edited(document: JsonObject, edit: (copy: Editable) => void): JsonObject {
  const copy = structuredClone(document) as Editable
  edit(copy)
  return copy as JsonObject
}
// biome-ignore lint/suspicious/noExplicitAny: spoiling a document means doing what its type forbids.
export type Editable = any

/** Sets the value at a path such as `credentialSubject/scope`; `undefined` removes it. */
export function put(copy: Editable, path: string, value: JsonValue | undefined): void {
  const names = path.split('/')
  const last = names.pop() as string
  const owner = names.reduce((object, name) => object[name], copy)
  if (value === undefined) delete owner[last]
  else owner[last] = value
}

/**
 * Adds a member so that the JSON of the credential has exactly `bytes` bytes. `filler` is one
 * character of one or more bytes.
 */
export function weighing(document: JsonObject, bytes: number, filler = 'x'): JsonObject {
  const free = bytes - Buffer.byteLength(JSON.stringify({ ...document, padding: '' }))
  const fillerBytes = Buffer.byteLength(filler)
  return {
    ...document,
    padding: filler.repeat(Math.floor(free / fillerBytes)) + 'x'.repeat(free % fillerBytes),
  }
}

/**
 * Changes a credential before it is signed, so that the signature is valid and only the content is
 * wrong.
 */
export async function signedWith(
  issuer: Party,
  edit: (copy: Editable) => void,
  options: { createdMs?: number; proofPurpose?: string } = {},
) {
  const { proof: _, ...unsecured } = await issue(issuer)
  const { createdMs = NOW - 1000, ...rest } = options
  return signDocument(edited(unsecured, edit), {
    key: issuer.key,
    verificationMethod: issuer.method,
    createdMs,
    ...rest,
  })
}

export function trustedKey(key: PublicKey, changes: Partial<TrustedKey> = {}): TrustedKey {
  return { id: key.multikey, key, status: 'active', changedAtMs: undefined, ...changes }
}

export function trusted(
  party: Party,
  changes: Partial<TrustedIssuer> & { key?: Partial<TrustedKey> } = {},
): TrustedIssuer {
  const { key: keyChanges, ...rest } = changes
  return {
    issuer: party.did,
    keys: new Map([[party.method, trustedKey(party.key.publicKey, keyChanges)]]),
    scope: undefined,
    credentialTtlSecondsMax: undefined,
    ...rest,
  }
}

/** The revocation data of a site in plain maps, as a test double. */
export class PlainSite implements SiteData {
  siteId = SITE
  trusted = true
  settings: SiteSettings = {
    bearer: 'on',
    holderProof: 'optional',
    delegation: 'on',
    credentialTtlSecondsMax: undefined,
  }
  head = { epoch: EPOCH, seq: 7, hash: '0'.repeat(64) }
  readonly issuers = new Map<string, TrustedIssuer>()
  readonly credentials = new Set<string>()
  readonly users = new Set<string>()
  readonly tokens = new Set<string>()
  readonly holders = new Set<string>()
  readonly oauthIssuers = new Map<string, OAuthIssuer>()
  cutOffMs = Number.NEGATIVE_INFINITY
  subjectKey: SubjectKey | undefined = new Uint8Array(32).fill(7)

  constructor(...issuers: TrustedIssuer[]) {
    for (const issuer of issuers) this.issuers.set(issuer.issuer, issuer)
  }

  issuer = (issuer: string) => this.issuers.get(issuer)
  credentialRevocation = (id: CredentialId) =>
    this.credentials.has(id) ? ({ by: 'credential', sinceMs: NOW } as const) : undefined
  userRevocation = (ppid: Ppid) =>
    this.users.has(ppid) ? ({ by: 'user', sinceMs: NOW } as const) : undefined
  oauthIssuer = (issuer: string) => this.oauthIssuers.get(issuer)
  holderRevocation = (thumbprint: string) =>
    this.holders.has(thumbprint) ? ({ by: 'holder', sinceMs: NOW } as const) : undefined
  cutOff = (_issuer: string, createdMs: number) =>
    createdMs > this.cutOffMs ? undefined : ({ by: 'site', sinceMs: this.cutOffMs } as const)
  tokenRevocation = (hash: string) =>
    this.tokens.has(hash) ? ({ by: 'token', sinceMs: NOW } as const) : undefined
}

export function createData(site: SiteData, changes: Partial<RevocationData> = {}): RevocationData {
  return { site, ageMs: 100, ageMsMax: 30_000, ...changes }
}

export function createDemand(changes: Partial<Demand> = {}): Demand {
  return { scope: [READ], nowMs: NOW, ...changes }
}

/** A valid bearer token that was exchanged for a credential of this issuer. */
export function createToken(issuer: Party): TokenFacts {
  return {
    tokenSha256: 'ab'.repeat(32),
    siteId: SITE,
    ppid: newPpid(),
    scope: [READ, WRITE],
    permissionId: 'perm_orders' as PermissionId,
    credentialIds: [newCredentialId(), newCredentialId()],
    holders: [],
    isDelegated: true,
    issuer: issuer.did,
    issuerKey: issuer.method,
    signedAtMs: NOW - 3000,
    oldestSignedAtMs: NOW - 4000,
    issuedAtMs: NOW - 1000,
    expiresAtMs: NOW + 900_000,
  }
}

/** A site that trusts only this issuer. */
export function createSite(issuer: Party, change: (site: PlainSite) => void = () => undefined): PlainSite {
  const site = new PlainSite(trusted(issuer))
  change(site)
  return site
}

export const shown = (document: JsonValue) => ({ header: credentialHeader(document as JsonObject) })
export const rawHeader = (content: string | Uint8Array) => ({
  header: Buffer.from(content).toString('base64url'),
})

const REQUEST_URL = 'https://shop.example/api/orders?page=2'

/** A demand with a request signed by the holder, and a nonce store that has none of its nonces. */
export async function signedDemand(
  holder: Party,
  { header }: { header: string },
  changes: Partial<Demand> = {},
): Promise<Demand> {
  const plain = holderRequestFrom(
    'POST',
    REQUEST_URL,
    new Headers({ 'x-service-credential': header }),
    'none',
  )
  const fields = await signRequest(plain, { key: holder.key, nowMs: NOW })
  const headers = new Headers({ 'x-service-credential': header, ...fields })
  return createDemand({
    request: holderRequestFrom('POST', REQUEST_URL, headers, 'none'),
    nonces: createMemoryNonces({ startedAtMs: NOW - 600_000 }),
    ...changes,
  })
}
