import { resolve } from 'node:path'
import { text } from '../columns.ts'
import { migrations } from '../migrations/all.ts'
import { pendingMigrations } from '../migrations/migration.ts'
import { requireWritable } from './file.ts'
import { schemaVersion } from './migrate.ts'
import { openReading } from './offline.ts'
import { requireLive } from './sqlite-store.ts'

/**
 * Rejects, with a message for the operator, when a start could not use the file, in use or not.
 * Writes nothing. Returns the version of its schema.
 */
export async function checkFile(file: string): Promise<number> {
  const path = resolve(file)
  requireWritable(path)
  const session = openReading(path, undefined)
  try {
    const version = schemaVersion(session.db)
    pendingMigrations(migrations, version)
    const [log] = session.rows('SELECT lineage FROM log WHERE one = 1')
    requireLive(log && text(log, 'lineage'), path)
    return version
  } finally {
    session.db.close()
  }
}
