import type { Query } from './connect.ts'

const VERSION_MIN = 140_000

/**
 * Throws, with all problems in one message, for a server that could lose committed data, or that is
 * not the primary.
 */
export async function requireSafeSettings(query: Query): Promise<void> {
  const [found] = await query(
    `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit, current_setting('transaction_read_only') AS read_only,
       CAST(pg_is_in_recovery() AS TEXT) AS in_recovery, current_setting('server_encoding') AS encoding,
       CAST(current_setting('server_version_num') AS INTEGER) AS version`,
  )
  if (found === undefined) throw new Error('PostgreSQL did not report its settings')
  const faults = [
    found.fsync !== 'on' && 'fsync is off: confirmed writes would be lost in a crash',
    found.full_page_writes !== 'on' && 'full_page_writes is off: a crash could tear pages',
    found.synchronous_commit === 'off' &&
      'synchronous_commit is off: confirmed commits would be lost in a crash',
    found.in_recovery !== 'false' && 'it is a standby: connect to the primary',
    found.in_recovery === 'false' &&
      found.read_only !== 'off' &&
      'it takes no writes (read-only): connect to the primary',
    found.encoding !== 'UTF8' && `its encoding is ${found.encoding}: create the database with UTF8`,
    !(Number(found.version) >= VERSION_MIN) &&
      `version ${VERSION_MIN / 10_000} or later is needed, and this is ${Math.floor(Number(found.version) / 10_000)}`,
  ].filter((fault) => fault !== false)
  if (faults.length > 0) throw new Error(`this PostgreSQL cannot be used: ${faults.join('; ')}`)
}

/**
 * Throws, with a message for the operator, when the role could not write the log or create tables,
 * which every start needs.
 */
export async function requirePrivileges(query: Query): Promise<void> {
  const [found] = await query(
    `SELECT CURRENT_USER AS role, CAST(has_schema_privilege(current_schema(), 'CREATE') AS TEXT) AS may_create,
       CAST(bool_and(has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
         AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')) AS TEXT) AS may_write
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = current_schema() AND c.relkind = 'r' AND c.relname IN ('log', 'entries', 'heads')`,
  )
  if (found === undefined || (found.may_create === 'true' && found.may_write === 'true')) return
  throw new Error(
    `the role ${String(found.role)} may not ${found.may_write === 'true' ? 'create tables' : 'write the tables'} of this database`,
  )
}
