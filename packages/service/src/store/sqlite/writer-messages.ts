import type { AppendedRow } from '../committed-part.ts'
import type { OperationName } from '../operations/all.ts'
import type { ForgedRow } from '../transaction.ts'

/** Messages to the writer. `close` is the last. */
export type ToWriter = Asked | { readonly kind: 'close' }

export interface Asked {
  readonly kind: 'operation'
  readonly id: number
  readonly name: OperationName
  readonly args: readonly unknown[]
}

/**
 * Messages from the writer. `done` comes after the commit, for all operations in it. `forged`: the
 * writer found a forged row.
 */
export type FromWriter =
  | { readonly kind: 'ready'; readonly macKey: string }
  | { readonly kind: 'forged'; readonly row: ForgedRow }
  | { readonly kind: 'rejected'; readonly fault: TransportedFault }
  | {
      readonly kind: 'done'
      readonly outcomes: readonly Outcome[]
      readonly hasAppended: boolean
      /** Empty when there are more than a `CommittedPart` may have. */
      readonly appended: readonly AppendedRow[]
    }
  | { readonly kind: 'fatal'; readonly fault: TransportedFault }
  | { readonly kind: 'closed' }

export type Outcome =
  | { readonly id: number; readonly ok: true; readonly answer: unknown }
  | { readonly id: number; readonly ok: false; readonly fault: TransportedFault }

/** An error as it is sent between threads. */
export interface TransportedFault {
  readonly name: string
  readonly message: string
  readonly isUnavailable: boolean
  readonly forged?: ForgedRow
}
