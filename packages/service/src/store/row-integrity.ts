import type { RowMacs } from '../sealing/row-macs.ts'
import type { ForgedRow } from './transaction.ts'

/** What a store needs to write and check rows that can grant. */
export interface RowIntegrity {
  readonly macs: RowMacs
  /** A row was found that the service did not write. It was not used. */
  readonly onForged: (row: ForgedRow) => void
}
