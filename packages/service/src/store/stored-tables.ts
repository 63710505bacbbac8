/** A value of a column, in either store. */
export type StoredValue = string | number | Uint8Array | null

export interface StoredTable {
  readonly name: string
  readonly columns: readonly string[]
  /** Each call reads the rows again. */
  rows(): Iterable<Readonly<Record<string, StoredValue>>>
}

/** All tables of a store, as they were at one moment. */
export interface StoredTables {
  readonly schemaVersion: number
  readonly tables: readonly StoredTable[]
}
