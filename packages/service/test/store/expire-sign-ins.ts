import Database from 'better-sqlite3'

/**
 * Ends all sign-ins in the file of a SQLite store, as ten minutes would: the status has no MAC. The
 * service that owns it may be running.
 */
export function expireSignIns(file: string): void {
  const database = new Database(file)
  database.prepare("UPDATE sign_ins SET status = 'over'").run()
  database.close()
}
