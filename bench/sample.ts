import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  checkEntry,
  createEntry,
  credentialHeader,
  type Entry,
  type EntryBodies,
  type EntryKind,
  formatTime,
  GENESIS_HASH,
  importPrivateKey,
  issueCredential,
  type JsonObject,
  type LogHead,
  type PrivateJwk,
  type PrivateKey,
  parseCredentialId,
  parsePpid,
  parseScope,
  parseSiteId,
  SiteView,
} from '@countersign/core'

export const ISSUER = 'did:web:issuer.example'
export const METHOD = `${ISSUER}#key-1`
export const SITE = required(parseSiteId('shop.example'))
export const READ = required(parseScope('orders:read'))
const WRITE = required(parseScope('orders:write'))
const EPOCH = 'bench0000'

const REVOCATIONS = 1000
const DAY_MS = 86_400_000

/** One issuer and the site that trusts it. Every server verifies with this one key. */
export interface Sample {
  readonly key: PrivateKey
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
  readonly privateJwk: PrivateJwk
  /** A whole second, a minute ago; everything is valid from then on for 30 days. */
  readonly validFromMs: number
  readonly validUntilMs: number
  /**
   * Follows a log with 1,000 revocations, half of them of users. Its head was proven when the
   * sample was made.
   */
  readonly view: SiteView
  /** The n-th signed credential. Equal numbers give credentials of equal content. */
  credential(n: number): Promise<JsonObject>
  header(n: number): Promise<string>
}

export async function createSample(nowMs: number): Promise<Sample> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const privateJwk = privateKey.export({ format: 'jwk' }) as PrivateJwk
  const key = await importPrivateKey(privateJwk)
  const validFromMs = Math.floor(nowMs / 1000) * 1000 - 60_000
  const validUntilMs = validFromMs + 30 * DAY_MS
  const signer = { issuer: ISSUER, verificationMethod: METHOD, key, createdMs: validFromMs }
  const credential = (n: number) =>
    issueCredential(
      {
        credentialId: toCredentialId(n),
        ppid: toPpid(n),
        siteId: SITE,
        scope: [READ, WRITE],
        permissionId: 'perm_orders',
        validFromMs,
        validUntilMs,
      },
      signer,
    )
  return {
    key,
    publicKey,
    privateKey,
    privateJwk,
    validFromMs,
    validUntilMs,
    view: await createView(key, validFromMs, nowMs),
    credential,
    // Text that came in with a request is one flat piece; text fresh from a concatenation might not
    // be.
    header: async (n) => Buffer.from(credentialHeader(await credential(n)), 'latin1').toString('latin1'),
  }
}

/**
 * The n-th credential's content as the claims of a JWT: the registered claims, and the whole
 * unsigned credential beside them.
 */
export async function jwtClaims(sample: Sample, n: number): Promise<JsonObject> {
  const { proof: _, ...vc } = await sample.credential(n)
  const { validFromMs, validUntilMs } = sample
  const seconds = { iat: validFromMs / 1000, nbf: validFromMs / 1000, exp: validUntilMs / 1000 }
  return { iss: ISSUER, sub: toPpid(n), aud: SITE, jti: toCredentialId(n), ...seconds, vc }
}

/** A JWT in compact form, EdDSA, signed with the issuer's key. */
export async function jwt(sample: Sample, n: number): Promise<string> {
  const part = (value: JsonObject) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${part({ alg: 'EdDSA', typ: 'JWT', kid: METHOD })}.${part(await jwtClaims(sample, n))}`
  const text = `${input}.${sign(null, Buffer.from(input), sample.privateKey).toString('base64url')}`
  return Buffer.from(text, 'latin1').toString('latin1')
}

async function createView(key: PrivateKey, atMs: number, nowMs: number): Promise<SiteView> {
  const at = formatTime(atMs)
  const view = new SiteView({ siteId: SITE, entriesAreProven: true })
  let head: LogHead = { epoch: EPOCH, seq: 0, hash: GENESIS_HASH }
  const append = async <Kind extends EntryKind>(kind: Kind, body: EntryBodies[Kind]) => {
    const entry = (await createEntry({ siteId: SITE, kind, body, at }, head)) as Entry
    const outcome = view.apply(required(await checkEntry(entry)))
    if (outcome !== 'applied') throw new Error(`the view did not take entry ${entry.seq}: ${outcome}`)
    head = { epoch: entry.epoch, seq: entry.seq, hash: entry.hash }
  }
  await append('site.changed', {
    bearer: 'on',
    holder_proof: 'optional',
    delegation: 'on',
    credential_ttl_seconds_max: null,
  })
  const keys = [{ id: 'key-1', key: key.publicKey.multikey, status: 'active' }] as const
  await append('issuer.trusted', {
    issuer: ISSUER,
    keys,
    scope: [READ, WRITE],
    credential_ttl_seconds_max: null,
  })
  for (let i = 1; i <= REVOCATIONS; i++) {
    // Negative numbers: none of the credentials that are shown.
    if (i % 2 === 0) await append('user.revoked', { ppid: toPpid(-i), revoked_at: at })
    else await append('credential.revoked', { credential_id: toCredentialId(-i), revoked_at: at })
  }
  const proven = view.confirmHead(
    { siteId: SITE, ...head, asOfMs: nowMs, maxAgeSeconds: 60 },
    { wallMs: nowMs, monotonicMs: performance.now() },
  )
  if (proven !== 'proven') throw new Error(`the view did not take the proof of its head: ${proven}`)
  return view
}

/** As long as those of a service: `cred_` and 26 characters of base32. */
function toCredentialId(n: number) {
  return required(parseCredentialId(`cred_01k9x3v0h2e8${spread(n, 7)}${spread(n ^ 0x2545f491, 7)}`))
}

/** As long as those of a service: 52 characters of base32 for 256 bits. */
function toPpid(n: number) {
  return required(
    parsePpid(
      `did:service:ppid_${[1, 2, 3, 4, 5, 6, 7].map((salt) => spread(n ^ (salt * 0x1f123bb5), 7)).join('')}abc`,
    ),
  )
}

/** Digits of base32 that look random and differ for different numbers. */
function spread(n: number, digits: number): string {
  return (Math.imul(n, 0x9e3779b1) >>> 0).toString(32).padStart(digits, '0')
}

/** One after the other, and again from the beginning. */
export function inTurn<T>(values: readonly T[]): () => T {
  let at = 0
  return () => {
    if (at === values.length) at = 0
    return values[at++] as T
  }
}

/** The first `count` of what `make` makes. */
export async function several<T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> {
  const made: T[] = []
  for (let n = 0; n < count; n++) made.push(await make(n))
  return made
}

/** How long a text is, for a note. */
export function describeLength(text: string | undefined): string {
  return `${(text?.length ?? 0).toLocaleString('en')} characters`
}

export function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the benchmark made something malformed')
  return value
}
