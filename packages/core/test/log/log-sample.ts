import { createHash, generateKeyPairSync } from 'node:crypto'
import type { CredentialId, Ppid, Scope, SiteId } from '../../src/credential/ids.ts'
import { formatTime, parseTime } from '../../src/encoding/rfc3339.ts'
import { parseJwtKey } from '../../src/jwt/jwk.ts'
import { type CheckedEntry, checkEntry, createEntry, GENESIS_HASH } from '../../src/log/chain.ts'
import type { Entry, EntryBodies, EntryKind, IssuerState, KeyState } from '../../src/log/entry.ts'
import {
  OAUTH_ISSUER_DEFAULTS,
  type OAuthIssuerState,
  type OAuthKeyState,
  toKeyText,
} from '../../src/log/oauth-issuer.ts'
import type { LogHead } from '../../src/log/position.ts'
import { SiteView } from '../../src/log/view.ts'
import { publicKeyFromBytes } from '../../src/proof/keys.ts'

/** A valid log of one site, in which each test changes one thing. */
export const SITE = 'shop.example' as SiteId
export const OTHER_SITE = 'other.example' as SiteId
export const EPOCH = '0123456789abcdef'
export const NOW = Date.UTC(2026, 10, 14, 12, 0, 0)
export const SEED = [0x12345678, 0x9abcdef0] as const
export const GENESIS = GENESIS_HASH
export const START: LogHead = { epoch: EPOCH, seq: 0, hash: GENESIS_HASH }

export const at = (seconds: number) => formatTime(NOW + seconds * 1000)
export const msAt = (seconds: number) => NOW + seconds * 1000
export function toMs(time: string): number {
  const ms = parseTime(time)
  if (ms === undefined) throw new Error(`no time: ${time}`)
  return ms
}
export const credential = (n: number) => `cred_${String(n).padStart(26, '0')}` as CredentialId
export const user = (n: number) => `did:service:ppid_${String(n).padStart(52, 'a')}` as Ppid
export const token = (n: number) => n.toString(16).padStart(64, '0')
export const thumbprint = (n: number) => String(n).padStart(43, '0')
export const issuer = (n: number) => `did:web:issuer${n}.example`

/** A different Multikey for each number. */
export function multikey(n: number): string {
  const bytes = new Uint8Array(32).fill(n + 1)
  bytes[31] = 1
  const key = publicKeyFromBytes('Ed25519', bytes)
  if (key === undefined) throw new Error('the sample key is not a good one')
  return key.multikey
}

export const activeKey = (id: string, n: number): KeyState => ({ id, key: multikey(n), status: 'active' })

export function issuerState(
  n: number,
  keys: readonly KeyState[],
  changes: Partial<IssuerState> = {},
): IssuerState {
  return { issuer: issuer(n), keys, scope: null, credential_ttl_seconds_max: null, ...changes }
}

export const oauthIssuer = (n: number) => `https://idp${n}.example`

/** A P-256 key of its own for each number, as the log writes it. */
function oauthKey(n: number): OAuthKeyState {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = parseJwtKey(publicKey.export({ format: 'jwk' }))
  if (key === undefined) throw new Error('the sample key is not a good one')
  const id = createHash('sha256').update(JSON.stringify(key.jwk)).digest('base64url')
  return { id, kid: `kid-${n}`, key: toKeyText(key), status: 'active' }
}
export const OAUTH_KEYS = [0, 1, 2].map(oauthKey)

export function oauthState(
  n: number,
  keys: readonly OAuthKeyState[] = [OAUTH_KEYS[n % OAUTH_KEYS.length] as OAuthKeyState],
  changes: Partial<OAuthIssuerState> = {},
): OAuthIssuerState {
  return {
    ...OAUTH_ISSUER_DEFAULTS,
    issuer: oauthIssuer(n),
    keys,
    audience: ['https://api.shop.example'],
    session_claim: 'sid',
    token_ttl_seconds_max: 3600,
    ...changes,
  }
}

/** One valid body of every kind. */
export const BODIES: EntryBodies = {
  'user.revoked': { ppid: user(1), revoked_at: at(1) },
  'user.reinstated': { ppid: user(1), reinstated_at: at(2) },
  'user.signed_out': { ppid: user(1), before: at(2) },
  'credential.revoked': { credential_id: credential(1), revoked_at: at(3) },
  'token.revoked': { token_sha256: token(1), revoked_at: at(4) },
  'holder.revoked': { thumbprint: thumbprint(1), revoked_at: at(4) },
  'issuer.trusted': {
    issuer: issuer(1),
    keys: [activeKey('key-1', 1), { id: 'key-2', key: multikey(2), status: 'retired', retired_at: at(0) }],
    scope: ['orders:read' as Scope, 'orders:write' as Scope],
    credential_ttl_seconds_max: 86_400,
  },
  'oauth_issuer.trusted': oauthState(1),
  'issuer.distrusted': { issuer: issuer(1) },
  'issuer.cut_off': { issuer: issuer(1), before: at(4) },
  'key.retired': { issuer: issuer(1), key_id: 'key-1', at: at(5) },
  'key.compromised': { issuer: issuer(1), key_id: 'key-1', at: at(6) },
  'site.changed': {
    bearer: 'on',
    holder_proof: 'optional',
    delegation: 'on',
    credential_ttl_seconds_max: null,
  },
  'site.cut_off': { before: at(6) },
}
export const KINDS = Object.keys(BODIES) as EntryKind[]

/** The kind, body and time of an entry that is not in a log yet. */
export type Saying = {
  readonly [Kind in EntryKind]: {
    readonly kind: Kind
    readonly body: EntryBodies[Kind]
    readonly at?: string
  }
}[EntryKind]

/** A log with these entries. */
export async function createLog(
  sayings: readonly Saying[],
  start: LogHead = START,
  siteId = SITE,
): Promise<CheckedEntry[]> {
  const entries: CheckedEntry[] = []
  let head = start
  for (const { kind, body, at: time = at(entries.length) } of sayings) {
    const entry = (await createEntry({ siteId, kind, body, at: time }, head)) as Entry
    entries.push(await checked(entry))
    head = toHead(entry)
  }
  return entries
}

export async function checked(entry: Entry): Promise<CheckedEntry> {
  const good = await checkEntry(entry)
  if (good === undefined) throw new Error(`the hash of entry ${entry.seq} is wrong`)
  return good
}

export const toHead = ({ epoch, seq, hash }: Entry): LogHead => ({ epoch, seq, hash })

/** A view with these entries applied as proven, as in the service. */
export function createView(entries: readonly CheckedEntry[], siteId = SITE): SiteView {
  const view = new SiteView({ siteId, seed: SEED, entriesAreProven: true })
  for (const entry of entries) {
    const outcome = view.apply(entry)
    if (outcome !== 'applied') throw new Error(`entry ${entry.seq}: ${outcome}`)
  }
  return view
}

export const viewAfter = async (...sayings: Saying[]) => createView(await createLog(sayings))

/** This many simple entries. */
export const revocations = (count: number): Saying[] =>
  Array.from(
    { length: count },
    (_, n) =>
      ({ kind: 'credential.revoked', body: { credential_id: credential(n), revoked_at: at(n) } }) as const,
  )
