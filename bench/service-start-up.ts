import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { formatTime } from '@countersign/core'
import { readMasterKey } from '../packages/service/src/keys/master-key.ts'
import { number, text } from '../packages/service/src/store/columns.ts'
import { hashEntry } from '../packages/service/src/store/entry-hash.ts'
import { nextDigest } from '../packages/service/src/store/log-digest.ts'
import { requireIntact, updateRow } from '../packages/service/src/store/operations/shared/mac-rows.ts'
import { openForWriting } from '../packages/service/src/store/sqlite/connection.ts'
import { openCheckedSession } from '../packages/service/src/store/sqlite/offline.ts'
import type { SqliteSession } from '../packages/service/src/store/sqlite/session.ts'
import { rows, type Transaction } from '../packages/service/src/store/transaction.ts'
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
  revokeMany(dataDir, revocations)
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
 * chain, its digest and its MACs, and the state of each.
 */
export function revokeMany(dataDir: string, count: number): void {
  const masterKey = readMasterKey({ text: undefined, file: undefined, dataDir, mode: 'production' })
  const session = openCheckedSession(openForWriting(join(dataDir, 'countersign.db')), masterKey)
  session.rows('BEGIN IMMEDIATE')
  session.run(appendMany(session.db, count))
  session.rows('COMMIT')
  session.db.pragma('wal_checkpoint(TRUNCATE)')
  session.db.close()
}

/**
 * The MACs of the log row and the head are checked before and created after, as the service does.
 */
function* appendMany(db: SqliteSession['db'], count: number): Transaction<void> {
  const [log] = yield* rows('SELECT * FROM log WHERE one = 1')
  const [head] = yield* rows('SELECT h.*, log.epoch FROM heads h, log WHERE h.site_id = $1', SITE)
  if (log === undefined || head === undefined) throw new Error('there is no log')
  yield* requireIntact('log', log)
  yield* requireIntact('heads', head)
  const epoch = text(log, 'epoch')
  const nowMs = Date.now()
  let [prevHash, digest] = [text(head, 'hash'), text(log, 'digest')]
  const entry = db.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const credential = db.prepare('INSERT INTO credential_revocations VALUES (?, ?, ?, ?, NULL, 0, ?, ?)')
  const user = db.prepare(
    `INSERT INTO users (site_id, ppid, revoked, first_at, revoked_at, credential_ids, tokens_revoked, revoked_seq, revoked_position)
     VALUES (?, ?, 1, ?, ?, '[]', 0, ?, ?)`,
  )
  for (let i = 1; i <= count; i++) {
    const [position, seq] = [number(log, 'position') + i, number(head, 'seq') + i]
    const isUser = i % 2 === 0
    const kind = isUser ? 'user.revoked' : 'credential.revoked'
    // As random as real ones: a snapshot of numbers in a row would be compressed to a tenth.
    const noise = createHash('sha256').update(`${i}`).digest()
    const id = isUser ? `did:service:ppid_${base32(noise)}` : `cred_${noise.toString('hex').slice(0, 26)}`
    const atMs = nowMs - (count - i) * 1000 - (noise[0] as number)
    const at = formatTime(atMs)
    const bodyJson = `{"${isUser ? 'ppid' : 'credential_id'}":"${id}","revoked_at":"${at}"}`
    const hash = hashEntry({ epoch, seq, siteId: SITE, kind, bodyJson, at, prevHash })
    entry.run(epoch, position, SITE, seq, kind, bodyJson, at, prevHash, hash)
    if (isUser) user.run(SITE, id, atMs, atMs, seq, position)
    else credential.run(SITE, id, 'credential', atMs, seq, position)
    prevHash = hash
    digest = nextDigest(digest, hash)
  }
  yield* updateRow('heads', head, { seq: number(head, 'seq') + count, hash: prevHash })
  yield* updateRow('log', log, { position: number(log, 'position') + count, digest })
}
