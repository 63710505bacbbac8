import type { CredentialId, Ppid } from '../credential/ids.ts'
import type { Horizon } from './horizon.ts'
import type { PackLine } from './packs.ts'
import { parseEntryTime } from './parse-entry-time.ts'
import type { RevocationLine } from './snapshot.ts'

/**
 * What is left of a line when everything that no longer matters is removed; undefined if nothing
 * is. Holder keys stay permanently. All lines about the revocation of one user stay or go together,
 * so that their order keeps its meaning: `keepsUser` must be true for a user who is revoked now,
 * and for one who was reinstated at the horizon or later. `keepsCredential` must be true for a
 * credential that outlives the horizon, because it was signed by a clock that was ahead.
 */
export function compactLine(
  line: RevocationLine,
  { sinceMs, tokensSinceMs }: Horizon,
  keepsUser: (ppid: Ppid) => boolean,
  keepsCredential: (credentialId: CredentialId) => boolean,
): RevocationLine | undefined {
  switch (line.type) {
    case 'credential':
      return isBefore(line.revoked_at, sinceMs) && !keepsCredential(line.credential_id) ? undefined : line
    case 'token':
      return isBefore(line.revoked_at, tokensSinceMs) ? undefined : line
    case 'signed_out':
      return isBefore(line.before, sinceMs) ? undefined : line
    case 'user':
      return keepsUser(line.ppid) ? line : undefined
    case 'users':
      return filterPack(line, (_, ppid) => keepsUser(ppid as Ppid))
    case 'credentials':
      return filterPack(line, (atMs, id) => atMs >= sinceMs || keepsCredential(id as CredentialId))
    case 'tokens':
      return filterPack(line, (atMs) => atMs >= tokensSinceMs)
    case 'holder':
      return line
    default:
      throw new TypeError(`a page cannot contain ${JSON.stringify(line satisfies never)}`)
  }
}

function filterPack(line: PackLine, keeps: (atMs: number, id: string) => boolean): PackLine | undefined {
  const sinceMs = parseEntryTime(line.since) ?? Infinity
  const kept = line.ids.flatMap((id, i) => (keeps(sinceMs + (line.ms[i] as number), id) ? [i] : []))
  if (kept.length === line.ids.length) return line
  if (kept.length === 0) return undefined
  return { ...line, ids: kept.map((i) => line.ids[i]), ms: kept.map((i) => line.ms[i]) } as PackLine
}

function isBefore(time: string, ms: number): boolean {
  return (parseEntryTime(time) ?? Infinity) < ms
}
