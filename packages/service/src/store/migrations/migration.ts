/** One step of the schema. Never changed once released: what comes later is a further step. */
export interface Migration {
  readonly version: number
  /**
   * For both stores: `TEXT` and `BIGINT` only. Text is compared byte for byte. A table with binary
   * values is written twice, with `BLOB` and `BYTEA`.
   */
  readonly common: readonly string[]
  readonly sqlite: readonly string[]
  readonly postgres: readonly string[]
}

/** The database was written by a newer release than this one. */
export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew'

  constructor(found: number, known: number) {
    super(
      `the database has schema version ${found}, this release knows ${known}: start the newer release, or restore a backup`,
    )
  }
}

/**
 * What is still to be done, in order, to a database of that version (0: an empty one). Throws a
 * SchemaTooNew.
 */
export function pendingMigrations(migrations: readonly Migration[], version: number): readonly Migration[] {
  const known = migrations.at(-1)?.version ?? 0
  if (version > known) throw new SchemaTooNew(version, known)
  return migrations.filter((migration) => migration.version > version)
}
