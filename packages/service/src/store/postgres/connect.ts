import postgres from 'postgres'
import type { Row, SqlValue } from '../transaction.ts'
import { readTls } from './tls.ts'

export type Sql = postgres.Sql<{ bigint: number }>

/** Runs one prepared statement with `$1` parameters. */
export type Query = (text: string, values?: readonly SqlValue[]) => Promise<readonly Row[]>

export interface ConnectOptions {
  readonly url: string
  /** How many connections at most. */
  readonly max: number
  readonly statementMsMax?: number
  readonly lockMsMax?: number
  /** Reject statements while the server is a standby, which may lack what was committed. */
  readonly primaryOnly?: boolean
  readonly onClose?: () => void
  readonly onNotify?: (channel: string, payload: string) => void
}

const STATEMENT_MS_MAX = 5000
const LOCK_MS_MAX = 4000

/**
 * Opens connections with a time-out on every statement, and whole numbers as numbers: none of ours
 * exceeds 2⁵³. Not for transactions: the driver may continue one on another connection after it
 * lost the first. See `WriterPool`.
 */
export function connect(options: ConnectOptions): Sql {
  const {
    url,
    max,
    statementMsMax = STATEMENT_MS_MAX,
    lockMsMax = LOCK_MS_MAX,
    primaryOnly = false,
    onClose = () => {},
    onNotify = () => {},
  } = options
  const hidden = {
    onnotify: onNotify, // Known to the driver, though not to its types.
  }
  const { url: driverUrl, ssl } = readTls(url)
  return postgres(driverUrl, {
    ...(ssl === undefined ? {} : { ssl }),
    max,
    connect_timeout: 5,
    max_lifetime: null,
    idle_timeout: 0,
    backoff: () => 0.25,
    fetch_types: false,
    onnotice: () => {},
    onclose: onClose,
    ...(primaryOnly ? { target_session_attrs: 'primary' as const } : {}),
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: {
      application_name: 'countersign',
      statement_timeout: statementMsMax,
      lock_timeout: lockMsMax,
      idle_in_transaction_session_timeout: statementMsMax,
      default_transaction_isolation: 'read committed',
    } as Record<string, string | number>,
    ...hidden,
  }) as Sql
}

export function queryWith(sql: Sql): Query {
  return async (text, values) => (await ask(sql, text, values)) as unknown as readonly Row[]
}

/** Hands a statement to the driver, which may queue it; `cancel` removes it unless it was sent. */
export function ask(
  sql: Sql,
  text: string,
  values: readonly SqlValue[] = [],
): postgres.PendingQuery<postgres.Row[]> {
  const options = { prepare: true, simple: false } as { prepare: boolean }
  return sql.unsafe(text, values as SqlValue[], options)
}
