/**
 * One transaction, written once for both stores. It is a generator: it yields one statement at a
 * time and is resumed with the answer. SQLite runs it inside its writer thread without waiting,
 * PostgreSQL with a round trip for each statement. A transaction that throws, or is never finished,
 * changes nothing.
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

/** What a MAC can cover. */
export type MacValue = string | number | null
export type SqlValue = MacValue | Uint8Array
export type Row = Readonly<Record<string, SqlValue>>

export type Step =
  /**
   * SQL that both stores understand: `$1` parameters, text, whole numbers and bytes only,
   * `RETURNING`, `ON CONFLICT`.
   */
  | { readonly kind: 'sql'; readonly sql: string; readonly values: readonly SqlValue[] }
  /**
   * A statement whose rows are not needed. The transaction may go on before it is answered. If it
   * fails, the transaction fails at its end at the latest, and changes nothing.
   */
  | { readonly kind: 'exec'; readonly sql: string; readonly values: readonly SqlValue[] }
  /** A statement that changes rows; the answer is how many. It has no `RETURNING`. */
  | { readonly kind: 'change'; readonly sql: string; readonly values: readonly SqlValue[] }
  /**
   * Blocks every other transaction that locks the same name until this one has ended. Names are
   * locked in order; lock several in one step, or two transactions may wait for each other.
   */
  | { readonly kind: 'lock'; readonly names: readonly string[] }
  /**
   * Appends an entry to a site's log: assigns the next numbers, chains it to the entry before, and
   * wakes the readers after the commit.
   */
  | { readonly kind: 'append'; readonly entry: NewEntry }
  /** Creates the MAC of a row, without a round trip; the answer is its text. */
  | { readonly kind: 'mac'; readonly table: string; readonly values: readonly MacValue[] }
  /** Reports a row whose MAC is missing or wrong, for the log and the metrics. */
  | { readonly kind: 'forged'; readonly row: ForgedRow }
  /** Steps that do not need each other's answers, run in this order, in one round trip. */
  | { readonly kind: 'together'; readonly steps: readonly Step[] }

/** A row that the service did not write, or that was changed since. */
export interface ForgedRow {
  readonly table: string
  /** Its primary key. */
  readonly key: string
}

export interface NewEntry {
  readonly siteId: string
  readonly kind: string
  /** Canonical JSON. */
  readonly bodyJson: string
  readonly atMs: number
}

/** Where an appended entry is in its site's log, and in the log of all sites. */
export interface Appended {
  readonly epoch: string
  readonly seq: number
  readonly position: number
  readonly hash: string
}

export type StepAnswer = readonly Row[] | Appended | string | number | undefined | readonly StepAnswer[]

/** The rows that a statement returns. */
export function* rows(sql: string, ...values: SqlValue[]): Transaction<readonly Row[]> {
  return (yield { kind: 'sql', sql, values }) as readonly Row[]
}

/** The first row, if there is one. */
export function* row(sql: string, ...values: SqlValue[]): Transaction<Row | undefined> {
  return (yield* rows(sql, ...values))[0]
}

/**
 * How many rows a statement changes. It has no `RETURNING`: for that, SQLite keeps a copy of each
 * page that the statement changes.
 */
export function* countChanged(sql: string, ...values: SqlValue[]): Transaction<number> {
  return (yield { kind: 'change', sql, values }) as number
}

/** Runs a statement whose rows are not needed, without waiting for the answer. */
export function* exec(sql: string, ...values: SqlValue[]): Transaction<void> {
  yield { kind: 'exec', sql, values }
}

export function* lock(...names: string[]): Transaction<void> {
  yield { kind: 'lock', names: [...new Set(names)].sort() }
}

export function* append(entry: NewEntry): Transaction<Appended> {
  return (yield { kind: 'append', entry }) as Appended
}

/**
 * Runs parts of a transaction that do not need each other's answers: the first step of each, in
 * this order, then the second of each, and so on. PostgreSQL answers each such round at once. It
 * runs a statement only after the one before it has ended, so what follows a lock is locked.
 */
export function* together<const Parts extends readonly Transaction<unknown>[]>(
  ...parts: Parts
): Transaction<{ [Index in keyof Parts]: Parts[Index] extends Transaction<infer T> ? T : never }> {
  const states = parts.map((part) => ({ part, state: part.next(undefined) }))
  for (;;) {
    const open = states.filter(({ state }) => state.done !== true)
    if (open.length === 0) break
    const steps = open.map(({ state }) => state.value as Step)
    const answers = (yield { kind: 'together', steps }) as readonly StepAnswer[]
    for (const [i, each] of open.entries()) each.state = each.part.next(answers[i])
  }
  return states.map(({ state }) => state.value) as never
}

export function* createMac(table: string, values: readonly MacValue[]): Transaction<string> {
  return (yield { kind: 'mac', table, values }) as string
}

export function* reportForged(row: ForgedRow): Transaction<void> {
  yield { kind: 'forged', row }
}
