import type { OperationName } from '../operations/all.ts'
import type { ForgedRow } from '../transaction.ts'

/** To the writer. `close` is the last. */
export type ToWriter = Asked | { readonly kind: 'close' }

export interface Asked {
  readonly kind: 'operation'
  readonly id: number
  readonly name: OperationName
  readonly args: readonly unknown[]
}

/**
 * From the writer. `done` comes after the commit, for all that were in it. `forged`: a row was
 * found that the service did not write.
 */
export type FromWriter =
  | { readonly kind: 'ready'; readonly macKey: string }
  | { readonly kind: 'forged'; readonly row: ForgedRow }
  | { readonly kind: 'refused'; readonly fault: TransportedFault }
  | { readonly kind: 'done'; readonly outcomes: readonly Outcome[]; readonly hasAppended: boolean }
  | { readonly kind: 'fatal'; readonly fault: TransportedFault }
  | { readonly kind: 'closed' }

export type Outcome =
  | { readonly id: number; readonly ok: true; readonly answer: unknown }
  | { readonly id: number; readonly ok: false; readonly fault: TransportedFault }

/** What is left of an error on its way between threads. */
export interface TransportedFault {
  readonly name: string
  readonly message: string
  readonly isUnavailable: boolean
  readonly forged?: ForgedRow
}
