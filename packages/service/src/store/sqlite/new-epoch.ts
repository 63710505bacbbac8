import { resolveEpoch } from '../epoch.ts'
import { COPY } from './backup.ts'
import { openForWriting } from './connection.ts'
import { prepareStoreFile } from './file.ts'
import { migrate } from './migrate.ts'
import { auditSession, openCheckedSession, runOffline } from './offline.ts'
import { lockOwner } from './owner-lock.ts'
import { LIVE } from './sqlite-store.ts'

/**
 * Begins a new epoch after an audit. Rejects while a service has the file open, and with a
 * `LogCorrupted` when the log is not intact.
 */
export async function beginFileEpoch(
  file: string,
  masterKey: Uint8Array,
  nowMs: number,
): Promise<{ epoch: string; position: number }> {
  const path = prepareStoreFile(file)
  const lock = lockOwner(path)
  try {
    const db = openForWriting(path)
    try {
      migrate(db)
      const session = openCheckedSession(db, masterKey)
      session.rows('UPDATE log SET lineage = $1', COPY)
      const epoch = await resolveEpoch(runOffline(session), async () => LIVE, nowMs)
      const { position } = await auditSession(session)
      return { epoch, position }
    } finally {
      db.close()
    }
  } finally {
    lock.release()
  }
}
