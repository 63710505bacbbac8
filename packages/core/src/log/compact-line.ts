import type { Ppid } from '../credential/ids.ts'
import type { Horizon } from './horizon.ts'
import type { PackLine } from './packs.ts'
import { parseEntryTime } from './parse-entry-time.ts'
import type { RevocationLine } from './snapshot.ts'
import type { SiteView } from './view.ts'

/**
 * What is left of a line when everything that no longer matters is removed; undefined if nothing
 * is. `view` must have the entry of the line. Users that are revoked now and holder keys stay
 * permanently. Everything about another user stays while it can revoke a credential that was signed
 * at the horizon or later: all lines about a user stay or go together, so their order keeps its
 * meaning.
 */
export function compactLine(
  line: RevocationLine,
  { sinceMs, tokensSinceMs }: Horizon,
  view: Pick<SiteView, 'userRevocation'>,
): RevocationLine | undefined {
  const matters = (ppid: Ppid) => view.userRevocation(ppid, sinceMs) !== undefined
  switch (line.type) {
    case 'credential':
      return isBefore(line.revoked_at, sinceMs) ? undefined : line
    case 'token':
      return isBefore(line.revoked_at, tokensSinceMs) ? undefined : line
    case 'user':
    case 'signed_out':
      return matters(line.ppid) ? line : undefined
    case 'users':
      return filterPack(line, (_, ppid) => matters(ppid as Ppid))
    case 'credentials':
      return filterPack(line, (atMs) => atMs >= sinceMs)
    case 'tokens':
      return filterPack(line, (atMs) => atMs >= tokensSinceMs)
    case 'holder':
      return line
    default:
      throw new TypeError(`a page cannot contain ${JSON.stringify(line satisfies never)}`)
  }
}

function filterPack(line: PackLine, keeps: (atMs: number, id: string) => boolean): PackLine | undefined {
  const sinceMs = parseEntryTime(line.since) ?? 0
  const kept = line.ids.flatMap((id, i) => (keeps(sinceMs + (line.ms[i] as number), id) ? [i] : []))
  if (kept.length === line.ids.length) return line
  if (kept.length === 0) return undefined
  return { ...line, ids: kept.map((i) => line.ids[i]), ms: kept.map((i) => line.ms[i]) } as PackLine
}

function isBefore(time: string, ms: number): boolean {
  return (parseEntryTime(time) ?? 0) < ms
}
