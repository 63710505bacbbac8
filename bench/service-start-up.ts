import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { formatTime } from '@countersign/core'
import { hashEntry } from '../packages/service/src/store/entry-hash.ts'
import { openForWriting } from '../packages/service/src/store/sqlite/connection.ts'
import { SqliteSession } from '../packages/service/src/store/sqlite/session.ts'
import { startServer } from './processes.ts'
import { type Sample, SITE } from './sample.ts'
import { toIssuer } from './service-http.ts'
import { atMost, type Verdict } from './verdict.ts'

export interface StartUpRow {
  readonly name: string
  readonly seconds: number
  /** Of the process with all its threads: less at the mercy of what else the machine does. */
  readonly cpuSeconds: number
  readonly rssMb: number
  readonly rssMbMax: number
}

export interface BenchStartUpOptions {
  readonly directory: string
  readonly onProgress: (what: string, done: number, all: number) => void
  readonly revocations?: number
}

/**
 * From the start of the process to a service that is ready, with nothing in its log and with a
 * million revocations.
 */
export async function benchStartUp(
  sample: Sample,
  options: BenchStartUpOptions,
): Promise<{ rows: StartUpRow[]; verdicts: Verdict[] }> {
  const { directory, onProgress, revocations = 1_000_000 } = options
  const dataDir = join(directory, 'start-up')
  const issuer = toIssuer(sample)
  const start = async (name: string): Promise<StartUpRow> => {
    const ours = await startServer('ours', { dataDir, issuer })
    const { cpuUs, rssBytes, rssBytesMax } = await ours.usage()
    await ours.stop()
    return {
      name,
      seconds: ours.startMs / 1000,
      cpuSeconds: cpuUs / 1e6,
      rssMb: rssBytes / 2 ** 20,
      rssMbMax: rssBytesMax / 2 ** 20,
    }
  }
  await start('first') // Makes the file.
  const empty = await start('start-up, no revocations')
  onProgress('writing revocations', 0, revocations)
  revokeMany(join(dataDir, 'countersign.db'), revocations)
  const full = await start(`start-up, ${revocations.toLocaleString('en')} revocations, SQLite`)
  return {
    rows: [empty, full],
    verdicts: [atMost('start-up with a million revocations ≤ 15 s', 15, full.seconds)],
  }
}

function base32(bytes: Buffer): string {
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(five.padEnd(5, '0'), 2)])
    .join('')
}

/**
 * What as many revocations would have left behind, written in one transaction: the log with its
 * chain, and the state of each.
 */
export function revokeMany(file: string, count: number): void {
  const session = new SqliteSession(openForWriting(file))
  const log = session.rows('SELECT epoch, position FROM log')[0] as { epoch: string; position: number }
  const head = session.rows('SELECT seq, hash FROM heads WHERE site_id = $1', SITE)[0] as {
    seq: number
    hash: string
  }
  const nowMs = Date.now()
  let prevHash = head.hash
  session.rows('BEGIN IMMEDIATE')
  const entry = session.db.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const credential = session.db.prepare(
    'INSERT INTO credential_revocations VALUES (?, ?, ?, ?, NULL, 0, ?, ?)',
  )
  const user = session.db.prepare(
    `INSERT INTO users (site_id, ppid, revoked, first_at, revoked_at, credential_ids, tokens_revoked, revoked_seq, revoked_position)
     VALUES (?, ?, 1, ?, ?, '[]', 0, ?, ?)`,
  )
  for (let i = 1; i <= count; i++) {
    const [position, seq] = [log.position + i, head.seq + i]
    const isUser = i % 2 === 0
    const kind = isUser ? 'user.revoked' : 'credential.revoked'
    // As random as real ones: a snapshot of numbers in a row would be compressed to a tenth.
    const noise = createHash('sha256').update(`${i}`).digest()
    const id = isUser ? `did:service:ppid_${base32(noise)}` : `cred_${noise.toString('hex').slice(0, 26)}`
    const atMs = nowMs - (count - i) * 1000 - (noise[0] as number)
    const at = formatTime(atMs)
    const bodyJson = `{"${isUser ? 'ppid' : 'credential_id'}":"${id}","revoked_at":"${at}"}`
    const hash = hashEntry({ epoch: log.epoch, seq, siteId: SITE, kind, bodyJson, at, prevHash })
    entry.run(log.epoch, position, SITE, seq, kind, bodyJson, at, prevHash, hash)
    if (isUser) user.run(SITE, id, atMs, atMs, seq, position)
    else credential.run(SITE, id, 'credential', atMs, seq, position)
    prevHash = hash
  }
  session.rows('UPDATE heads SET seq = $2, hash = $3 WHERE site_id = $1', SITE, head.seq + count, prevHash)
  session.rows('UPDATE log SET position = $1', log.position + count)
  session.rows('COMMIT')
  session.db.pragma('wal_checkpoint(TRUNCATE)')
  session.db.close()
}
