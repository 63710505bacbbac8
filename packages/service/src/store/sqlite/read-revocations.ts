import { inflateRawSync, constants as zlib } from 'node:zlib'
import {
  type Entry,
  type Ppid,
  parseSnapshotLine,
  parseTime,
  type RevocationLine,
  type SiteId,
  type SnapshotLine,
} from '@countersign/core'
import { inflatePartSync } from '../checkpoints/inflate-part.ts'
import { bytes, json, number, text, toSiteId } from '../columns.ts'
import type {
  DistrustedIssuer,
  EndedKey,
  KeptCutOff,
  RevokedCredential,
  RevokedToken,
  RevokedUser,
  StoreRevocations,
} from '../lost-changes.ts'
import { toEntry } from '../operations/shared/log-rows.ts'
import type { Row } from '../transaction.ts'
import type { SqliteSession } from './session.ts'

const PAGE = 1000
/** Which of the two stores of a restore is read. */
type ReadStore = 'replaced' | 'restored'

/** Several times the largest page. */
const PAGE_BYTES_MAX = 64 * 1024 * 1024

/**
 * Reads what a store revokes: from its checkpoint, then from its entries. Skips what does not
 * parse, and checks no hash: a damaged store is the usual reason for a restore. Of the store that
 * is replaced, reads all entries after the base. Of the one that is restored, reads only what the
 * new epoch is based on, because that is audited: a row that another program has added must not
 * make a revocation look kept.
 */
export function readRevocations(session: SqliteSession, store: ReadStore): StoreRevocations {
  const found = new FoundRevocations()
  const checkpoint = findCheckpoint(session)
  for (const site of checkpoint === undefined ? [] : session.rows('SELECT * FROM checkpoint_sites')) {
    for (const line of stateLines(site)) found.addLine(toSiteId(site), line)
    for (const line of pageLines(session, site, store)) found.addLine(toSiteId(site), line)
  }
  const from = store === 'replaced' ? 'base_position' : 'position'
  const after = checkpoint === undefined ? 0 : number(checkpoint, from)
  for (const entry of entriesIn(session, after)) found.addEntry(entry)
  return found
}

/** The state of each thing by its last change; lines and entries come in the order of the log. */
class FoundRevocations implements StoreRevocations {
  readonly users = new Map<string, RevokedUser>()
  readonly credentials = new Map<string, RevokedCredential>()
  readonly tokens = new Map<string, RevokedToken>()
  readonly issuers = new Map<string, DistrustedIssuer>()
  readonly keys = new Map<string, EndedKey>()
  readonly cutOffs = new Map<string, KeptCutOff>()

  addEntry({ site_id: siteId, kind, body, at }: Entry): void {
    const atMs = parseTime(at) ?? 0
    switch (kind) {
      case 'user.revoked':
        this.#revokeUser(siteId, body.ppid, atMs)
        break
      case 'user.reinstated':
        this.#reinstateUser(siteId, body.ppid, parseTime(body.reinstated_at) ?? atMs, atMs)
        break
      case 'credential.revoked':
        this.#revokeCredential(siteId, body.credential_id, atMs)
        break
      case 'token.revoked':
        this.#revokeToken(siteId, body.token_sha256, atMs)
        break
      case 'issuer.distrusted':
        this.issuers.set(`${siteId} ${body.issuer}`, { siteId, issuer: body.issuer, atMs })
        break
      case 'issuer.trusted':
      case 'oauth_issuer.trusted':
        this.issuers.delete(`${siteId} ${body.issuer}`)
        for (const { id, status } of body.keys) this.#setKey(siteId, body.issuer, id, status, atMs)
        break
      case 'key.compromised':
        this.#setKey(siteId, body.issuer, body.key_id, 'compromised', atMs)
        break
      case 'key.retired':
        this.#setKey(siteId, body.issuer, body.key_id, 'retired', atMs)
        break
      case 'user.signed_out':
        this.#cutOff(siteId, kind, body.ppid, body.before)
        break
      case 'holder.revoked':
        this.#cutOff(siteId, kind, body.thumbprint, body.revoked_at)
        break
      case 'issuer.cut_off':
        this.#cutOff(siteId, kind, body.issuer, body.before)
        break
      case 'site.cut_off':
        this.#cutOff(siteId, kind, siteId, body.before)
        break
    }
  }

  addLine(siteId: SiteId, line: SnapshotLine): void {
    switch (line.type) {
      case 'users':
        for (const [ppid, atMs] of unpack(line)) this.#revokeUser(siteId, ppid as Ppid, atMs)
        break
      case 'credentials':
        for (const [id, atMs] of unpack(line)) this.#revokeCredential(siteId, id as never, atMs)
        break
      case 'tokens':
        for (const [id, atMs] of unpack(line)) this.#revokeToken(siteId, id, atMs)
        break
      case 'user':
        this.#revokeUser(siteId, line.ppid, parseTime(line.revoked_at) ?? 0)
        if (line.reinstated_at !== undefined)
          this.#reinstateUser(siteId, line.ppid, parseTime(line.reinstated_at) ?? 0, 0)
        if (line.revoked_again_at !== undefined)
          this.#revokeUser(siteId, line.ppid, parseTime(line.revoked_again_at) ?? 0)
        break
      case 'credential':
        this.#revokeCredential(siteId, line.credential_id, parseTime(line.revoked_at) ?? 0)
        break
      case 'token':
        this.#revokeToken(siteId, line.token_sha256, parseTime(line.revoked_at) ?? 0)
        break
      case 'signed_out':
        this.#cutOff(siteId, 'user.signed_out', line.ppid, line.before)
        break
      case 'holder':
        this.#cutOff(siteId, 'holder.revoked', line.thumbprint, line.revoked_at)
        break
      case 'cut_off':
        if (line.issuer === null) this.#cutOff(siteId, 'site.cut_off', siteId, line.before)
        else this.#cutOff(siteId, 'issuer.cut_off', line.issuer, line.before)
        break
      case 'issuer':
        this.#addIssuer(siteId, line.issuer, line.distrusted_at ?? undefined)
        for (const key of line.keys) this.#setKey(siteId, line.issuer, key.id, key.status, toEndMs(key))
        for (const { key_id, at } of line.compromised)
          this.#setKey(siteId, line.issuer, key_id, 'compromised', parseTime(at) ?? 0)
        break
      case 'oauth_issuer':
        this.#addIssuer(siteId, line.state.issuer, line.distrusted_at ?? undefined)
        for (const key of line.state.keys)
          this.#setKey(siteId, line.state.issuer, key.id, key.status, toEndMs(key))
        break
    }
  }

  #addIssuer(siteId: SiteId, issuer: string, distrustedAt: string | undefined): void {
    if (distrustedAt === undefined) return
    this.issuers.set(`${siteId} ${issuer}`, { siteId, issuer, atMs: parseTime(distrustedAt) ?? 0 })
  }

  #revokeUser(siteId: SiteId, ppid: Ppid, revokedAtMs: number): void {
    const name = `${siteId} ${ppid}`
    const cutoffMs = this.users.get(name)?.cutoffMs ?? 0
    this.users.set(name, { siteId, ppid, isRevoked: true, revokedAtMs, cutoffMs })
  }

  #reinstateUser(siteId: SiteId, ppid: Ppid, untilMs: number, atMs: number): void {
    const name = `${siteId} ${ppid}`
    const known = this.users.get(name)
    const cutoffMs = Math.max(known?.cutoffMs ?? 0, untilMs)
    const revokedAtMs = known?.revokedAtMs ?? atMs
    this.users.set(name, { siteId, ppid, isRevoked: false, revokedAtMs, cutoffMs })
  }

  #revokeCredential(siteId: SiteId, credentialId: RevokedCredential['credentialId'], atMs: number): void {
    this.credentials.set(`${siteId} ${credentialId}`, { siteId, credentialId, atMs })
  }

  #revokeToken(siteId: SiteId, sha256: string, atMs: number): void {
    this.tokens.set(`${siteId} ${sha256}`, { siteId, sha256, atMs })
  }

  #setKey(
    siteId: SiteId,
    issuer: string,
    keyId: string,
    status: EndedKey['status'] | 'active',
    atMs: number,
  ): void {
    const name = `${siteId} ${issuer} ${keyId}`
    if (this.keys.get(name)?.status === 'compromised') return
    if (status === 'active') this.keys.delete(name)
    else this.keys.set(name, { siteId, issuer, keyId, status, atMs })
  }

  #cutOff(siteId: SiteId, kind: KeptCutOff['kind'], target: string, before: string): void {
    const name = `${siteId} ${kind} ${target}`
    const beforeMs = parseTime(before) ?? 0
    // The latest, because a cut-off never moves back.
    if (!((this.cutOffs.get(name)?.beforeMs ?? -1) > beforeMs))
      this.cutOffs.set(name, { siteId, kind, target, beforeMs })
  }
}

/** When a key was retired. The time of a compromised key is in another line. */
function toEndMs(key: { readonly status: string; readonly retired_at?: string }): number {
  return parseTime(key.retired_at) ?? 0
}

function* unpack({
  since,
  ids,
  ms,
}: Extract<RevocationLine, { ids: readonly string[] }>): Generator<readonly [string, number]> {
  const sinceMs = parseTime(since) ?? 0
  for (const [i, id] of ids.entries()) yield [id, sinceMs + (ms[i] ?? 0)]
}

/** Undefined when there is none, or the store is older than checkpoints. */
function findCheckpoint(session: SqliteSession): Row | undefined {
  const [table] = session.rows(`SELECT 1 AS one FROM sqlite_master WHERE name = 'checkpoint'`)
  return table && session.rows('SELECT c.* FROM checkpoint c JOIN log ON log.epoch = c.epoch')[0]
}

function stateLines(site: Row): readonly SnapshotLine[] {
  try {
    return json<{ readonly lines: readonly unknown[] }>(site, 'state').lines.flatMap(toLine)
  } catch {
    return []
  }
}

/** The pages that the checkpoint consists of, and below a page that is missing all others. */
function* pageLines(session: SqliteSession, site: Row, store: ReadStore): Generator<SnapshotLine> {
  const pages = session.rows(
    'SELECT from_seq, to_seq FROM log_pages WHERE site_id = $1 AND to_seq <= $2 ORDER BY to_seq DESC',
    toSiteId(site),
    number(site, 'seq'),
  )
  const used: number[] = []
  let end = number(site, 'seq')
  const ends = new Set(pages.map((page) => number(page, 'to_seq')))
  for (const page of pages) {
    const toSeq = number(page, 'to_seq')
    // Between two pages of the checkpoint are pages that it has replaced, or that were planted.
    if (toSeq > end || (toSeq < end && ends.has(end))) continue
    used.unshift(toSeq)
    end = Math.min(toSeq, number(page, 'from_seq')) - 1
  }
  for (const toSeq of used) {
    const [page] = session.rows(
      'SELECT bytes, deflated FROM log_pages WHERE site_id = $1 AND to_seq = $2',
      toSiteId(site),
      toSeq,
    )
    if (page !== undefined) for (const text of toTexts(page, store)) yield* toLine(parseJson(text))
  }
}

function toTexts(page: Row, store: ReadStore): readonly string[] {
  const [deflated, size] = [bytes(page, 'deflated'), number(page, 'bytes')]
  const content = size >= 0 && size <= PAGE_BYTES_MAX ? inflatePartSync(deflated, size) : undefined
  const found = content ?? (store === 'replaced' ? inflateDamaged(deflated) : undefined)
  return found?.toString().split('\n') ?? []
}

/** What can be read of a damaged page: it is better to keep some of its revocations than none. */
function inflateDamaged(deflated: Uint8Array): Buffer | undefined {
  try {
    return inflateRawSync(deflated, { finishFlush: zlib.Z_SYNC_FLUSH, maxOutputLength: PAGE_BYTES_MAX })
  } catch {
    return undefined
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toLine(value: unknown): readonly SnapshotLine[] {
  const line = parseSnapshotLine(value)
  switch (line?.type) {
    case undefined:
    case 'head':
    case 'epoch':
    case 'page':
    case 'end':
      return []
    default:
      return line === undefined ? [] : [line]
  }
}

function* entriesIn(session: SqliteSession, position: number): Generator<Entry> {
  const [log] = session.rows('SELECT epoch FROM log WHERE one = 1')
  if (log === undefined) return
  for (let after = position; ; ) {
    const page = session.rows(
      'SELECT * FROM entries WHERE epoch = $1 AND position > $2 ORDER BY position LIMIT $3',
      text(log, 'epoch'),
      after,
      PAGE,
    )
    for (const row of page) {
      const entry = readableEntry(row)
      if (entry !== undefined) yield entry
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = number(last, 'position')
  }
}

function readableEntry(row: Row): Entry | undefined {
  try {
    return toEntry(row)
  } catch {
    return undefined
  }
}
