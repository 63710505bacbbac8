import { text } from '../columns.ts'
import { type Reseal, resealAll, type TextColumn } from '../operations/shared/master-key.ts'
import { openForWriting } from './connection.ts'
import { prepareStoreFile } from './file.ts'
import { migrate } from './migrate.ts'
import { lockOwner } from './owner-lock.ts'
import { SqliteSession } from './session.ts'

/**
 * Seals everything in a file again, in one transaction. Rejects while a service has the file open,
 * and when a text does not open.
 */
export async function resealFile(file: string, change: Reseal): Promise<number> {
  const path = prepareStoreFile(file)
  const lock = lockOwner(path)
  try {
    const session = new SqliteSession(openForWriting(path))
    try {
      migrate(session.db)
      // Overwrites what was sealed under the old key, rather than only freeing its pages.
      session.db.pragma('secure_delete = ON')
      const count = session.db
        .transaction(() => session.run(resealAll(change, findTextColumns(session))))
        .immediate()
      session.db.pragma('wal_checkpoint(TRUNCATE)')
      return count
    } finally {
      session.db.close()
    }
  } finally {
    lock.release()
  }
}

function findTextColumns(session: SqliteSession): readonly TextColumn[] {
  const found = session.rows(
    `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' AND c.type = 'TEXT'`,
  )
  return found.map((row) => ({ table: text(row, 'table'), column: text(row, 'column') }))
}
