import {
  type Entry,
  type IssuerLine,
  type OAuthIssuerState,
  parseSnapshotLine,
  parseTime,
  type RevocationLine,
  readPageLines,
  type SettingsState,
} from '@countersign/core'
import { inflatePartSync } from '../../checkpoints/inflate-part.ts'
import { bytes, json, number, text } from '../../columns.ts'
import { LogCorrupted } from '../../log-corrupted.ts'
import { type Row, row, rows, type Transaction } from '../../transaction.ts'
import { toEntry } from './log-rows.ts'
import { requireIntact } from './mac-rows.ts'

const PAGE = 1000

/** The position of the last entry about a row; undefined if it is only known from a checkpoint. */
type EntryPlace = number | undefined

interface UserState {
  readonly revoked: 0 | 1
  readonly cutoff: number | null
  readonly position: EntryPlace
}

interface IssuerFacts {
  readonly isTrusted: boolean
  readonly compromised: ReadonlySet<string>
  readonly seq: number
}

/** What the tables that are derived from the log must contain, by site and name. */
export interface ExpectedRows {
  readonly users: Map<string, UserState>
  readonly credentials: Map<string, { readonly position: EntryPlace; readonly atMs: number }>
  readonly tokens: Set<string>
  readonly issuers: Map<string, IssuerFacts>
  readonly sites: Map<string, SettingsState & { readonly seq: number }>
}

/** What the log says, and up to where. */
export interface ReplayedLog {
  readonly expected: ExpectedRows
  readonly position: number
  /** Entries up to here are only known from the checkpoint. */
  readonly checkpointPosition: number
  readonly basePosition: number
}

/** Reads the checkpoint, whose pages and rows the audit has compared with its MAC, and the rest. */
export function* replayLog(epoch: string): Transaction<ReplayedLog> {
  const expected: ExpectedRows = {
    users: new Map(),
    credentials: new Map(),
    tokens: new Set(),
    issuers: new Map(),
    sites: new Map(),
  }
  const { checkpointPosition, basePosition } = yield* replayCheckpoint(expected, epoch)
  for (let position = checkpointPosition; ; ) {
    const page = yield* rows(
      'SELECT * FROM entries WHERE epoch = $1 AND position > $2 ORDER BY position LIMIT $3',
      epoch,
      position,
      PAGE,
    )
    for (const found of page) {
      position = number(found, 'position')
      replayEntry(expected, toEntry(found), position)
    }
    if (page.length < PAGE) return { expected, position, checkpointPosition, basePosition }
  }
}

function* replayCheckpoint(
  expected: ExpectedRows,
  epoch: string,
): Transaction<Pick<ReplayedLog, 'checkpointPosition' | 'basePosition'>> {
  const checkpoint = yield* row('SELECT * FROM checkpoint WHERE one = 1 AND epoch = $1', epoch)
  if (checkpoint === undefined) return { checkpointPosition: 0, basePosition: 0 }
  yield* requireIntact('checkpoint', checkpoint)
  for (const site of yield* rows('SELECT * FROM checkpoint_sites ORDER BY site_id')) {
    const siteId = text(site, 'site_id')
    replayState(expected, siteId, json<StateText>(site, 'state'))
    for (let end = number(site, 'seq'), texts: string[] = []; ; ) {
      const page: Row | undefined =
        end === 0
          ? undefined
          : yield* row('SELECT * FROM log_pages WHERE site_id = $1 AND to_seq = $2', siteId, end)
      if (page === undefined) {
        for (const each of texts.reverse()) readPageLines(each, (line) => replayLine(expected, siteId, line))
        break
      }
      texts.push(inflate(page))
      end = number(page, 'from_seq') - 1
    }
  }
  return {
    checkpointPosition: number(checkpoint, 'position'),
    basePosition: number(checkpoint, 'base_position'),
  }
}

/** Throws a `LogCorrupted` for a page that the service did not write like this. */
function inflate(page: Row): string {
  const content = inflatePartSync(bytes(page, 'deflated'), number(page, 'bytes'))
  if (content !== undefined) return content.toString()
  const name = `page ${number(page, 'to_seq')} of ${text(page, 'site_id')}`
  throw new LogCorrupted('forged', `${name} is not the one that this service wrote`)
}

/** See `CheckpointState`. */
interface StateText {
  readonly lines: readonly unknown[]
  readonly last_seqs: Readonly<Record<string, number>>
}

function replayState({ issuers, sites }: ExpectedRows, siteId: string, state: StateText): void {
  const lines = state.lines.map(parseSnapshotLine)
  const oauthKeys = new Set(lines.flatMap((line) => (line?.type === 'oauth_key' ? [line.key_id] : [])))
  const setIssuer = (issuer: string, isTrusted: boolean, keys: readonly string[]) => {
    const known = issuers.get(`${siteId} ${issuer}`)
    const compromised = new Set([...(known?.compromised ?? []), ...keys])
    issuers.set(`${siteId} ${issuer}`, { isTrusted, compromised, seq: state.last_seqs[issuer] ?? 0 })
  }
  for (const line of lines) {
    if (line?.type === 'site') sites.set(siteId, { ...line, seq: state.last_seqs[''] ?? 0 })
    else if (line?.type === 'issuer') setIssuer(line.issuer, line.status === 'trusted', toKeyIds(line))
    else if (line?.type === 'oauth_issuer') {
      const ended = (key: OAuthIssuerState['keys'][number]) => oauthKeys.has(key.id)
      const keys = line.state.keys.filter(ended).map(({ id }) => id)
      setIssuer(line.state.issuer, line.distrusted_at === null, keys)
    }
  }
}

function toKeyIds({ compromised }: IssuerLine): readonly string[] {
  return compromised.map(({ key_id }) => key_id)
}

function replayLine(
  { users, credentials, tokens }: ExpectedRows,
  siteId: string,
  line: RevocationLine,
): void {
  const revokeUser = (ppid: string) => {
    const name = `${siteId} ${ppid}`
    users.set(name, { revoked: 1, cutoff: users.get(name)?.cutoff ?? null, position: undefined })
  }
  const revokeCredential = (id: string, atMs: number) =>
    credentials.set(`${siteId} ${id}`, { position: undefined, atMs })
  switch (line.type) {
    case 'users':
      for (const ppid of line.ids) revokeUser(ppid)
      break
    case 'user': {
      if (line.reinstated_at === undefined) {
        revokeUser(line.ppid)
        break
      }
      const name = `${siteId} ${line.ppid}`
      const cutoff = Math.max(users.get(name)?.cutoff ?? 0, parseTime(line.reinstated_at) ?? 0)
      const revoked = line.revoked_again_at === undefined ? 0 : 1
      users.set(name, { revoked, cutoff, position: undefined })
      break
    }
    case 'credentials': {
      const sinceMs = parseTime(line.since) ?? 0
      for (const [i, id] of line.ids.entries()) revokeCredential(id, sinceMs + (line.ms[i] ?? 0))
      break
    }
    case 'credential':
      revokeCredential(line.credential_id, parseTime(line.revoked_at) ?? 0)
      break
    case 'tokens':
      for (const id of line.ids) tokens.add(id)
      break
    case 'token':
      tokens.add(line.token_sha256)
      break
  }
}

function replayEntry(
  { users, credentials, tokens, issuers, sites }: ExpectedRows,
  entry: Entry,
  position: number,
): void {
  const { site_id: siteId, seq, kind, body } = entry
  switch (kind) {
    case 'user.revoked':
      users.set(`${siteId} ${body.ppid}`, {
        revoked: 1,
        cutoff: users.get(`${siteId} ${body.ppid}`)?.cutoff ?? null,
        position,
      })
      break
    case 'user.reinstated': {
      const cutoff = Math.max(
        users.get(`${siteId} ${body.ppid}`)?.cutoff ?? 0,
        parseTime(body.reinstated_at) ?? 0,
      )
      users.set(`${siteId} ${body.ppid}`, { revoked: 0, cutoff, position })
      break
    }
    case 'credential.revoked':
      credentials.set(`${siteId} ${body.credential_id}`, { position, atMs: parseTime(body.revoked_at) ?? 0 })
      break
    case 'token.revoked':
      tokens.add(body.token_sha256)
      break
    case 'issuer.trusted':
    case 'oauth_issuer.trusted':
    case 'issuer.distrusted':
    case 'key.compromised':
    case 'key.retired': {
      const name = `${siteId} ${body.issuer}`
      const known = issuers.get(name)
      const compromised = new Set(known?.compromised)
      if (kind === 'key.compromised') compromised.add(body.key_id)
      if (kind === 'issuer.trusted' || kind === 'oauth_issuer.trusted')
        for (const { id, status } of body.keys) if (status === 'compromised') compromised.add(id)
      const isTrusted =
        kind === 'issuer.trusted' ||
        kind === 'oauth_issuer.trusted' ||
        (kind !== 'issuer.distrusted' && known?.isTrusted === true)
      issuers.set(name, { isTrusted, compromised, seq })
      break
    }
    case 'site.changed':
      sites.set(siteId, { ...body, seq })
      break
  }
}
