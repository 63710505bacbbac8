import type { Revocation } from '@countersign/core'
import type { AuditRow, LogEntry, LogPage } from '@countersign/core/contract'
import { call } from '../api/call.ts'
import { findTarget } from '../evidence/words.ts'

/** A revocation that a check has met, with everything that the entry may name. */
export interface MetRevocation extends Revocation {
  readonly names: readonly string[]
}

export interface FoundEntry {
  readonly seq: number
  readonly at: string
  readonly reason: string | null
}

const KINDS: Readonly<Record<Revocation['by'], readonly LogEntry['kind'][]>> = {
  credential: ['credential.revoked'],
  user: ['user.revoked', 'user.signed_out'],
  token: ['token.revoked'],
  holder: ['holder.revoked'],
  issuer: ['issuer.cut_off', 'issuer.distrusted'],
  key: ['key.compromised'],
  site: ['site.cut_off'],
}
const PAGES_MAX = 5
/** The row of the audit is written with the entry. */
const AROUND_MS = 30_000

/**
 * The log entry of a revocation. It is asked for by its kind and compared here, so that nothing of
 * what was pasted is sent. Undefined if it is not among the newest entries of its kind.
 */
export async function findEntry(
  siteId: string,
  revocation: MetRevocation,
  signal: AbortSignal,
): Promise<FoundEntry | undefined> {
  const found = await Promise.all(
    KINDS[revocation.by].map((kind) => searchKind(siteId, kind, revocation, signal)),
  )
  const [entry] = found.flatMap((each) => each ?? []).sort((a, b) => b.seq - a.seq)
  if (entry === undefined) return undefined
  const atMs = Date.parse(entry.at)
  const rows = await call<{ items: readonly AuditRow[] }>(`/api/sites/${siteId}/audit`, {
    site: siteId,
    signal,
    query: {
      from: new Date(atMs - AROUND_MS).toISOString(),
      to: new Date(atMs + AROUND_MS).toISOString(),
      limit: 200,
    },
  }).catch(() => ({ items: [] }))
  const reason = rows.items.find(({ seq }) => seq === entry.seq)?.reason ?? null
  return { seq: entry.seq, at: entry.at, reason }
}

async function searchKind(
  siteId: string,
  kind: LogEntry['kind'],
  { by, names, sinceMs }: MetRevocation,
  signal: AbortSignal,
): Promise<LogEntry | undefined> {
  const isMeant = (entry: LogEntry) => by === 'site' || names.includes(findTarget(entry) ?? '')
  let newest: LogEntry | undefined
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const { items, next_cursor } = await call<LogPage & { next_cursor?: string | null }>(
      `/api/sites/${siteId}/log`,
      { site: siteId, signal, query: { kind, limit: 200, cursor } },
    )
    const meant = items.filter(isMeant)
    newest ??= meant[0]
    const exact = meant.find(({ at }) => Date.parse(at) === sinceMs)
    if (exact !== undefined) return exact
    if (next_cursor === undefined || next_cursor === null) break
    cursor = next_cursor
  }
  return newest
}
