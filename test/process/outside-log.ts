import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { connect, queryWith } from '../../packages/service/src/store/postgres/connect.ts'
import { openForReading, openForWriting } from '../../packages/service/src/store/sqlite/connection.ts'
import type { Row } from '../../packages/service/src/store/transaction.ts'
import type { ServiceHome } from './service-process.ts'

/** An entry as it lies in the table. */
export interface LoggedEntry {
  readonly epoch: string
  readonly position: number
  readonly siteId: string
  readonly seq: number
  readonly kind: string
  readonly body: Readonly<Record<string, unknown>>
  readonly hash: string
}

/** What was found in the tables of the log, and all that is wrong with it. */
export interface OutsideLog {
  readonly epoch: string
  readonly entries: readonly LoggedEntry[]
  readonly faults: readonly string[]
}

const TABLES = {
  log: 'SELECT epoch, position FROM log',
  heads: 'SELECT site_id, seq, hash FROM heads',
  entries:
    'SELECT epoch, position, site_id, seq, kind, body, at, prev_hash, hash FROM entries ORDER BY epoch, position',
}

type Ask = (sql: string) => Promise<readonly Row[]>

/**
 * Reads the log out of the database itself, past the service, and recomputes its chain with tools
 * that are not the service's own.
 */
export async function readOutside(home: Pick<ServiceHome, 'file' | 'databaseUrl'>): Promise<OutsideLog> {
  return withDatabase(home, async (ask) =>
    audited(await ask(TABLES.log), await ask(TABLES.heads), await ask(TABLES.entries)),
  )
}

/** Asks the database itself. */
export async function withDatabase<T>(
  home: Pick<ServiceHome, 'file' | 'databaseUrl'>,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  if (home.databaseUrl !== undefined) {
    const sql = connect({ url: home.databaseUrl, max: 1 })
    try {
      return await work(queryWith(sql))
    } finally {
      await sql.end({ timeout: 5 })
    }
  }
  const db = openForReading(home.file)
  try {
    return await work(async (text) => db.prepare(text).all() as Row[])
  } finally {
    db.close()
  }
}

/** Does to the database itself what must not be done. The embedded one must not be in use. */
export async function changeDatabase(
  home: Pick<ServiceHome, 'file' | 'databaseUrl'>,
  statement: string,
): Promise<void> {
  if (home.databaseUrl !== undefined) {
    await withDatabase(home, (ask) => ask(statement))
    return
  }
  const db = openForWriting(home.file)
  try {
    db.exec(statement)
  } finally {
    db.close()
  }
}

function audited(log: readonly Row[], heads: readonly Row[], rows: readonly Row[]): OutsideLog {
  const faults: string[] = []
  const epoch = String(log[0]?.epoch)
  if (log.length !== 1) faults.push(`there are ${log.length} logs`)
  const ends = new Map<string, { seq: number; hash: string }>()
  const entries = rows.map((row, i): LoggedEntry => {
    const { epoch: ofEntry, position, site_id, seq, kind, at, prev_hash, hash } = row
    const body = JSON.parse(String(row.body))
    const before = ends.get(String(site_id)) ?? { seq: 0, hash: '0'.repeat(64) }
    if (ofEntry !== epoch) faults.push(`entry ${position} is of epoch ${ofEntry}, the log of ${epoch}`)
    if (position !== i + 1) faults.push(`entry ${i + 1} is missing`)
    if (seq !== before.seq + 1) faults.push(`entry ${position} has seq ${seq} after ${before.seq}`)
    if (prev_hash !== before.hash) faults.push(`entry ${position} does not continue the chain`)
    const canonical = canonicalize({ epoch: ofEntry, seq, site_id, kind, body, at, prev_hash }) ?? ''
    if (createHash('sha256').update(canonical).digest('hex') !== hash)
      faults.push(`entry ${position} has another hash`)
    ends.set(String(site_id), { seq: Number(seq), hash: String(hash) })
    return {
      epoch: String(ofEntry),
      position: Number(position),
      siteId: String(site_id),
      seq: Number(seq),
      kind: String(kind),
      body,
      hash: String(hash),
    }
  })
  if (log[0]?.position !== rows.length)
    faults.push(`the log says it has ${log[0]?.position} entries, and has ${rows.length}`)
  if (heads.length !== ends.size) faults.push(`there are ${heads.length} heads for ${ends.size} sites`)
  for (const { site_id, seq, hash } of heads) {
    const end = ends.get(String(site_id))
    if (end?.seq !== seq || end?.hash !== hash) faults.push(`the head of ${site_id} is not its last entry`)
  }
  return { epoch, entries, faults }
}
