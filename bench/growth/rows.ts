import { formatTime, type LogHead, type SiteId } from '@countersign/core'
import { hashEntry } from '../../packages/service/src/store/entry-hash.ts'
import { nextDigest } from '../../packages/service/src/store/log-digest.ts'
import type { SqlValue } from '../../packages/service/src/store/transaction.ts'
import { type Change, toPpid, toReinstatedMs } from './changes.ts'

/** The columns of the tables that a store is filled with, in the order of the values. */
export const COLUMNS = {
  entries: ['epoch', 'position', 'site_id', 'seq', 'kind', 'body', 'at', 'prev_hash', 'hash'],
  users: [
    'site_id',
    'ppid',
    'revoked',
    'first_at',
    'revoked_at',
    'credential_ids',
    'tokens_revoked',
    'revoked_seq',
    'revoked_position',
    'cutoff',
    'reinstated_seq',
    'reinstated_position',
  ],
  credential_revocations: ['site_id', 'credential_id', 'type', 'at', 'tokens_revoked', 'seq', 'position'],
  audit: ['id', 'site_id', 'at', 'actor', 'action', 'target', 'detail'],
  credentials: [
    'site_id',
    'credential_id',
    'ppid',
    'issuer',
    'scope',
    'permission_id',
    'chain',
    'created',
    'valid_from',
    'valid_until',
    'holder_bound',
    'source',
    'known_at',
  ],
} as const

export type FilledTable = keyof typeof COLUMNS
export type WriteRow = (table: FilledTable, values: readonly SqlValue[]) => void

/** Where the log of all sites ends. */
export interface LogEnd {
  readonly epoch: string
  position: number
  digest: string
  readonly heads: Map<SiteId, Pick<LogHead, 'seq' | 'hash'>>
}

/**
 * Writes the changes of one store in order, a block at a time, through `write`. The store writes
 * the rows between two blocks.
 */
export type Blocks = (end: LogEnd, write: WriteRow) => Generator<void, void>

interface UserRow {
  readonly firstAtMs: number
  revoked: 0 | 1
  revokedAtMs: number
  revokedSeq: number
  revokedPosition: number
  cutoff: number | null
  reinstatedSeq: number | null
  reinstatedPosition: number | null
}

const ACTOR = 'key:key_growth'

/**
 * Writes what the operations of the service would have left behind: the entries, chained to the end
 * of the log, the tables that are derived from them, and the audit. Moves the end of the log.
 */
export function writeBlock(end: LogEnd, siteId: SiteId, changes: readonly Change[], write: WriteRow): void {
  const users = new Map<string, UserRow>()
  for (const change of changes) {
    const { seq, position } = writeEntry(end, siteId, change, write)
    const { kind, target, atMs, action } = change
    const isById = kind === 'user.revoked' || kind === 'credential.revoked'
    const detail = `{${isById ? '"tokens_revoked":0,' : ''}"outcome":"done","reason":null,"seq":${seq}}`
    write('audit', [toAuditId(atMs, position), siteId, atMs, ACTOR, action, target, detail])
    if (kind === 'credential.revoked')
      write('credential_revocations', [siteId, target, 'credential', atMs, 0, seq, position])
    if (kind === 'user.revoked') users.set(target, revokeUser(users.get(target), atMs, seq, position))
    if (kind === 'user.reinstated') reinstateUser(users.get(target), atMs, seq, position)
  }
  for (const [ppid, row] of users) write('users', [siteId, ppid, ...toUserValues(row)])
}

function writeEntry(
  end: LogEnd,
  siteId: SiteId,
  { kind, bodyJson, atMs }: Change,
  write: WriteRow,
): { readonly seq: number; readonly position: number } {
  const head = end.heads.get(siteId)
  if (head === undefined) throw new Error(`there is no site ${siteId}`)
  const { epoch } = end
  const [seq, position, at, prevHash] = [head.seq + 1, end.position + 1, formatTime(atMs), head.hash]
  const hash = hashEntry({ epoch, seq, siteId, kind, bodyJson, at, prevHash })
  write('entries', [epoch, position, siteId, seq, kind, bodyJson, at, prevHash, hash])
  end.heads.set(siteId, { seq, hash })
  end.position = position
  end.digest = nextDigest(end.digest, hash)
  return { seq, position }
}

function revokeUser(known: UserRow | undefined, atMs: number, seq: number, position: number): UserRow {
  const revoked = { revoked: 1, revokedAtMs: atMs, revokedSeq: seq, revokedPosition: position } as const
  const before = { firstAtMs: atMs, cutoff: null, reinstatedSeq: null, reinstatedPosition: null }
  return { ...(known ?? before), ...revoked }
}

function reinstateUser(known: UserRow | undefined, atMs: number, seq: number, position: number): void {
  if (known === undefined) throw new Error('a user was reinstated that had not been revoked')
  known.revoked = 0
  known.cutoff = toReinstatedMs(atMs)
  known.reinstatedSeq = seq
  known.reinstatedPosition = position
}

function toUserValues(row: UserRow): readonly SqlValue[] {
  const { revokedSeq, revokedPosition, cutoff, reinstatedSeq, reinstatedPosition } = row
  const revoked = [row.revoked, row.firstAtMs, row.revokedAtMs, '[]', 0, revokedSeq, revokedPosition]
  return [...revoked, cutoff, reinstatedSeq, reinstatedPosition]
}

/** As the service forms them; the number of the entry takes the place of random digits. */
function toAuditId(atMs: number, position: number): string {
  const time = Math.max(0, atMs).toString(36).padStart(9, '0')
  return `audit_${time}${(position % 36 ** 4).toString(36).padStart(4, '0')}${position.toString(16).padStart(10, '0')}`
}

const CREDENTIAL_LIFE_MS = 30 * 86_400_000

/** A credential that the site has seen, valid for 30 days. */
export function writeCredential(
  { siteId, credentialId, n, knownAtMs }: KnownCredential,
  write: WriteRow,
): void {
  const chain = `[{"credentialId":"${credentialId}","createdMs":${knownAtMs}}]`
  const granted = [toPpid(n), 'did:web:issuer.example', '["orders:read"]', 'perm_orders', chain]
  const times = [knownAtMs, knownAtMs, knownAtMs + CREDENTIAL_LIFE_MS]
  write('credentials', [siteId, credentialId, ...granted, ...times, 0, 'presented', knownAtMs])
}

interface KnownCredential {
  readonly siteId: SiteId
  readonly credentialId: string
  /** The number of its user. */
  readonly n: number
  readonly knownAtMs: number
}
