/**
 * One transaction, written once for every store. A program is a generator: it yields what it wants
 * to know or to exec, one statement at a time, and is resumed with the answer. SQLite runs it
 * without ever leaving its writer thread, PostgreSQL with a round trip a statement. A program that
 * throws, or is never finished, leaves nothing behind.
 */
export type Transaction<T> = Generator<Step, T, StepAnswer>

/** An operation that only reads. Stores run it without a transaction. */
type Read<Args extends unknown[], T> = ((...args: Args) => Transaction<T>) & { readonly isRead: true }

/** A read of the log in the epoch that the store follows; the store passes the epoch. */
export interface LogRead<Args extends unknown[], T> {
  (epoch: string, ...args: Args): Transaction<T>
  readonly isLogRead: true
}

/** Marks an operation that only reads. */
export function read<Args extends unknown[], T>(operation: (...args: Args) => Transaction<T>): Read<Args, T> {
  return Object.assign(operation, { isRead: true as const })
}

/**
 * Marks a read of the log. It throws an `EpochChanged` when the log is in another epoch: an empty
 * answer from another log must never look like "nothing new". It is one statement, so that the
 * epoch and the entries are of the same moment.
 */
export function readLog<Args extends unknown[], T>(
  operation: (epoch: string, ...args: Args) => Transaction<T>,
): LogRead<Args, T> {
  return Object.assign(operation, { isRead: true, isLogRead: true as const })
}

export function isRead(operation: object): boolean {
  return 'isRead' in operation
}

export function isLogRead(operation: object): boolean {
  return 'isLogRead' in operation
}

export type SqlValue = string | number | null
export type Row = Readonly<Record<string, SqlValue>>

export type Step =
  /**
   * Statements are in the common tongue of both stores: `$1` parameters, text and whole numbers
   * only, `RETURNING`, `ON CONFLICT`.
   */
  | { readonly kind: 'sql'; readonly sql: string; readonly values: readonly SqlValue[] }
  /**
   * A statement whose rows are not needed. The program may go on before it has been answered; that
   * it failed is known when the program ends at the latest, and then nothing of the program is
   * kept.
   */
  | { readonly kind: 'exec'; readonly sql: string; readonly values: readonly SqlValue[] }
  /**
   * Holds every other program that asks for the same name until this one has ended. Names are taken
   * in the order given; ask for several at once, or two programs may wait for each other.
   */
  | { readonly kind: 'lock'; readonly names: readonly string[] }
  /**
   * Adds an entry to a site's log: takes the next numbers, seals it to the one before, and wakes
   * the readers after the commit.
   */
  | { readonly kind: 'append'; readonly entry: NewEntry }
  /** Creates the MAC of a row; the answer is its text. Needs no store, so nothing is waited for. */
  | { readonly kind: 'mac'; readonly table: string; readonly values: readonly SqlValue[] }
  /** Reports a row whose MAC is missing or wrong, for the log and the metrics. */
  | { readonly kind: 'forged'; readonly row: ForgedRow }

/** A row that the service did not exec, or that was changed since. */
export interface ForgedRow {
  readonly table: string
  /** Its primary key. */
  readonly key: string
}

export interface NewEntry {
  readonly siteId: string
  readonly kind: string
  /** In canonical JSON already, so that the store need not know how. */
  readonly bodyJson: string
  readonly atMs: number
}

/** What an append gives: where the entry stands in its site's log, and in the log of all sites. */
export interface Appended {
  readonly epoch: string
  readonly seq: number
  readonly position: number
  readonly hash: string
}

export type StepAnswer = readonly Row[] | Appended | string | undefined

/** The rows that a statement gives back, none for one that returns nothing. */
export function* rows(sql: string, ...values: SqlValue[]): Transaction<readonly Row[]> {
  return (yield { kind: 'sql', sql, values }) as readonly Row[]
}

/** The first row, if there is one. */
export function* row(sql: string, ...values: SqlValue[]): Transaction<Row | undefined> {
  return (yield* rows(sql, ...values))[0]
}

/** For what is only to be written: a store that is far away is not waited for. */
export function* exec(sql: string, ...values: SqlValue[]): Transaction<void> {
  yield { kind: 'exec', sql, values }
}

export function* lock(...names: string[]): Transaction<void> {
  yield { kind: 'lock', names: [...new Set(names)].sort() }
}

export function* append(entry: NewEntry): Transaction<Appended> {
  return (yield { kind: 'append', entry }) as Appended
}

export function* createMac(table: string, values: readonly SqlValue[]): Transaction<string> {
  return (yield { kind: 'mac', table, values }) as string
}

export function* reportForged(row: ForgedRow): Transaction<void> {
  yield { kind: 'forged', row }
}
