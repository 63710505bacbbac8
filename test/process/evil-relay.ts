import { createHash } from 'node:crypto'
import {
  createEntry,
  type EntryBodies,
  type EntryKind,
  formatTime,
  generatePrivateKey,
  type JsonObject,
  type LogHead,
  type PrivateKey,
  type SiteId,
  type SnapshotHead,
  signFeedKeyStatement,
  signHeartbeat,
  signIntrospection,
  signSnapshot,
} from '@countersign/core'
import { newParty, type Party } from '../../packages/service/test/party.ts'
import { eventText } from './forging-relay.ts'

/** What an attacker on the wire can make: anything but signatures by keys of the service. */
export interface Forger {
  /** An issuer of the attacker that no site trusts. */
  readonly issuer: Party
  readonly kid: string
  /**
   * The attacker's own feed key. A guard that pins it believes everything that the forger signs:
   * the control arm.
   */
  readonly feedKey: PrivateKey
  /** The text of an entry that continues `head`, with a correct hash, and the head after it. */
  entry<Kind extends EntryKind>(
    head: LogHead,
    kind: Kind,
    body: EntryBodies[Kind],
  ): Promise<{ text: string; head: LogHead }>
  /** A heartbeat for `head`, signed with the attacker's key. */
  heartbeat(head: LogHead): Promise<string>
  /**
   * A snapshot with the same site but nothing revoked and the attacker's issuer trusted, in another
   * epoch.
   */
  snapshot(lines: readonly string[]): Promise<readonly string[]>
  /** The feed keys of discovery, as a service would list them whose only key is the attacker's. */
  readonly feed: { readonly version: 1; readonly keys: readonly object[]; readonly chain: readonly object[] }
  /** The head of the last snapshot that the forger made. */
  snapshotHead(): LogHead
  /** An introspection answer with whatever facts, signed with the attacker's key. */
  introspection(facts: JsonObject, sent: { nonce: string; token: string }, head: LogHead): Promise<object>
  trustOfIssuer(): EntryBodies['issuer.trusted']
}

/** The epoch of the log that the forger makes up. */
export const FORGED_EPOCH = 'f0rgedf0rgedf0rg'
const MAX_AGE_SECONDS = 60

export async function createForger(siteId: SiteId): Promise<Forger> {
  const issuer = await newParty()
  const feedKey = await generatePrivateKey('Ed25519')
  const kid = feedKey.publicKey.multikey
  const listed = { kid, public_key_multibase: feedKey.publicKey.multikey }
  const next_sha256 = createHash('sha256').update('the next key').digest('hex')
  const first = {
    ...listed,
    next_sha256,
    previous_kid: null,
    previous_compromised: false,
    at: formatTime(Date.now()),
  }
  const feed = {
    version: 1 as const,
    keys: [listed],
    chain: [await signFeedKeyStatement(first, feedKey, undefined)],
  }
  let snapshotHead: LogHead = { epoch: FORGED_EPOCH, seq: 0, hash: '0'.repeat(64) }
  const now = () => formatTime(Date.now())

  const trustOfIssuer = (): EntryBodies['issuer.trusted'] => ({
    issuer: issuer.did,
    keys: [{ id: issuer.keyId, key: issuer.key.publicKey.multikey, status: 'active' }],
    scope: null,
    credential_ttl_seconds_max: null,
  })

  return {
    issuer,
    kid,
    feedKey,
    trustOfIssuer,
    feed,
    snapshotHead: () => snapshotHead,
    async entry(head, kind, body) {
      const entry = await createEntry({ siteId, kind, body, at: now() }, head)
      const { epoch, seq, hash } = entry
      return { text: eventText(kind, entry), head: { epoch, seq, hash } }
    },
    async heartbeat({ epoch, seq, hash }) {
      const fields = {
        site_id: siteId,
        epoch,
        seq,
        hash,
        as_of: now(),
        max_age_seconds: MAX_AGE_SECONDS,
        kid,
      }
      return eventText('heartbeat', await signHeartbeat(fields, feedKey))
    },
    async snapshot(lines) {
      const site = lines.find((line) => line.includes('"type":"site"'))
      const head: SnapshotHead = { ...JSON.parse(lines[0] ?? ''), epoch: FORGED_EPOCH, as_of: now() }
      snapshotHead = { epoch: head.epoch, seq: head.seq, hash: head.hash }
      const trust = { type: 'issuer', ...trustOfIssuer(), status: 'trusted', compromised: [] }
      const forged = [JSON.stringify(head), site ?? '', JSON.stringify(trust)]
      const sha256 = createHash('sha256')
        .update(`${forged.join('\n')}\n`)
        .digest('hex')
      return [
        ...forged,
        JSON.stringify(await signSnapshot(head, { lines: forged.length, sha256 }, kid, feedKey)),
      ]
    },
    async introspection(facts, { nonce, token }, head) {
      const token_sha256 = createHash('sha256').update(token).digest('hex')
      const fields = { nonce, site_id: siteId, token_sha256, head, as_of: now(), kid }
      return { ...facts, proof: await signIntrospection(facts, fields, feedKey) }
    },
  }
}
