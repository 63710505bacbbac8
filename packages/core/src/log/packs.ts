import type { CredentialId, Ppid } from '../credential/ids.ts'
import { isWritableTime } from '../encoding/rfc3339.ts'
import { isCredentialId, isPpid, isSeq, isSha256Hex } from './entry.ts'
import { parseFields } from './members.ts'
import { parseEntryTime } from './parse-entry-time.ts'

/** The most ids in one pack. */
export const PACK_IDS_MAX = 1000
/** The most revocations in one page. */
export const PAGE_REVOCATIONS_MAX = 50_000

/**
 * Many revocations of one type in one line: `ids[i]` was revoked `ms[i]` milliseconds after
 * `since`. Reading a pack takes less than half the time of single lines.
 */
interface Pack<Type extends string, Id extends string> {
  readonly type: Type
  readonly since: string
  readonly ids: readonly Id[]
  readonly ms: readonly number[]
}

export type UsersLine = Pack<'users', Ppid>
export type CredentialsLine = Pack<'credentials', CredentialId>
export type TokensLine = Pack<'tokens', string>
export type PackLine = UsersLine | CredentialsLine | TokensLine

/**
 * Announces a page: the next `lines` lines of the snapshot are the revocations of the entries
 * `from_seq` to `to_seq`, and `sha256` covers their bytes.
 */
export interface PageLine {
  readonly type: 'page'
  readonly from_seq: number
  readonly to_seq: number
  readonly lines: number
  readonly sha256: string
}

const idParsers = { users: isPpid, credentials: isCredentialId, tokens: isSha256Hex } as const

/** Undefined unless the value has exactly the members of a pack, each well-formed. */
export function parsePackLine(type: PackLine['type'], value: unknown): PackLine | undefined {
  const { since, ids, ms } = parseFields(value, 4) ?? {}
  const sinceMs = parseEntryTime(since)
  if (sinceMs === undefined || !Array.isArray(ids) || !Array.isArray(ms)) return undefined
  if (ids.length === 0 || ids.length > PACK_IDS_MAX || ms.length !== ids.length) return undefined
  const isId = idParsers[type]
  for (let i = 0; i < ids.length; i++) {
    const after: unknown = ms[i]
    if (!isId(ids[i]) || !Number.isSafeInteger(after) || (after as number) < 0) return undefined
    if (!isWritableTime(sinceMs + (after as number))) return undefined
  }
  return { type, since, ids, ms } as PackLine
}

/** Undefined unless the value has exactly the members of an announcement, each well-formed. */
export function parsePageLine(value: unknown): PageLine | undefined {
  const { from_seq, to_seq, lines, sha256 } = parseFields(value, 5) ?? {}
  if (!isSeq(from_seq) || !isSeq(to_seq) || from_seq < 1 || to_seq < from_seq) return undefined
  if (!isSeq(lines) || lines > PAGE_REVOCATIONS_MAX || !isSha256Hex(sha256)) return undefined
  return { type: 'page', from_seq, to_seq, lines, sha256 }
}
