/** The store is unavailable, or did not answer in time. Nothing may be acknowledged. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable'
}

/**
 * The service did not write this row, or it was changed or put back since, or it is missing
 * although the log names it. It must not be used.
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
 * The log is not the one that the store has followed. Only the store catches this: it finds the new
 * epoch.
 */
export class EpochChanged extends Error {
  override readonly name = 'EpochChanged'
}

/** Entries that a reader has not read yet were removed: it must begin again at the checkpoint. */
export class LogCut extends Error {
  override readonly name = 'LogCut'
}
