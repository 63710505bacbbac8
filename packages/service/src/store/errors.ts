/** The store cannot be asked, or did not answer in time. Nothing may be acknowledged. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable'
}

/**
 * A row was not written by the service, was changed or put back since, or is missing although the
 * log knows of it. Nothing may rest on it.
 */
export class RowForged extends StoreUnavailable {
  override readonly name = 'RowForged'
  readonly table: string
  readonly key: string

  constructor(table: string, key: string) {
    super(
      `The row ${key} of ${table} is not as this service wrote it last: its MAC is wrong, it was put back as it was before, or it was removed. Run countersign audit-log, find out who writes to the store, and restore a backup.`,
    )
    this.table = table
    this.key = key
  }
}

/**
 * The log is no longer the one that was followed so far. Stays inside the store, which finds its
 * new epoch.
 */
export class EpochChanged extends Error {
  override readonly name = 'EpochChanged'
}
