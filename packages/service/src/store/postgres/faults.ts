import postgres from 'postgres'
import { EpochChanged, StoreUnavailable } from '../errors.ts'

/** Raised by `append_entry`, see the migrations. */
const EPOCH_CHANGED = 'CS001'

/**
 * SQLSTATEs, or their classes, that mean a failure of the server rather than of the statement:
 * connection (08), authorization (28), no such database (3D000), serialization (40), resources
 * (53), timeouts and shutdown (57), system and I/O (58), corruption (XX), idle in a transaction
 * (25P03, 25P04), a standby or a read-only database (25006), lock timeout (55P03), not durable
 * (CS002, our own).
 */
const UNAVAILABLE = /^(?:08|28|3D000$|40|53|57|58|XX|25P03$|25P04$|25006$|55P03$|CS002$)/
/** Certificates that do not lead to a trusted one, or are not valid now (OpenSSL). */
const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA$)/
/** Codes of the driver, the operating system and TLS. */
const DISCONNECTED = new RegExp(
  `^(?:CONNECTION_|CONNECT_TIMEOUT|E[A-Z]+$|ERR_(?:SSL|TLS)_)|${UNTRUSTED.source}`,
)
/** After these the server closes the connection. */
const HUNG_UP = /^(?:08|57P|25P03$|25P04$|28)/
const AGAIN = /^40(?:001|P01)$/

/** Whether the transaction lost against another one and may succeed when repeated. */
export function isRetryable(fault: unknown): boolean {
  return AGAIN.test(findCode(fault))
}

/** Whether an earlier statement of the same transaction has failed, which has the reason. */
export function isAfterFailure(fault: unknown): boolean {
  return findCode(fault) === '25P02'
}

/** Whether the server rejected a statement, and the connection can still be used. */
export function isStatementError(fault: unknown): boolean {
  return fault instanceof postgres.PostgresError && (isRetryable(fault) || !UNAVAILABLE.test(fault.code))
}

/** Whether the connection was lost. */
export function isDisconnection(fault: unknown): boolean {
  return (fault instanceof postgres.PostgresError ? HUNG_UP : DISCONNECTED).test(findCode(fault))
}

/**
 * Converts errors of the driver into those of the port. An error of the statement itself stays as
 * it is.
 */
export function toStoreError(fault: unknown): unknown {
  const code = findCode(fault)
  if (code === EPOCH_CHANGED)
    return new EpochChanged('the database is not the one that wrote the log', { cause: fault })
  const isServers = fault instanceof postgres.PostgresError ? UNAVAILABLE.test(code) : DISCONNECTED.test(code)
  return isServers
    ? new StoreUnavailable(`the database failed: ${code}${adviceOn(code)}`, { cause: fault })
    : fault
}

/** For operators; callers never see it. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; start PostgreSQL, or correct database_url',
  ENOTFOUND: 'its host name is not known; correct database_url',
  EAI_AGAIN: 'its host name could not be looked up',
  CONNECT_TIMEOUT: 'PostgreSQL cannot be reached; check database_url, the network and the firewall',
  ECONNRESET: 'it closed the connection; with sslmode in database_url, check that the server has TLS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host; correct database_url',
  '08P01':
    'it does not accept what a node needs; connect to PostgreSQL itself, not to a pooler such as PgBouncer',
  '25006': 'it is a standby or read-only; connect to the primary',
  '28P01': 'PostgreSQL rejects this user or password; correct database_url',
  '28000': 'PostgreSQL rejects connections of this user from this host; check pg_hba.conf',
  '3D000': 'there is no such database; create it first (createdb), or correct database_url',
  '53300': 'it has no connection left; raise its max_connections (a node takes up to 15)',
  '57P03': 'it is starting or stopping; try again',
}

function adviceOn(code: string): string {
  const advice = UNTRUSTED.test(code)
    ? 'its certificate is not trusted; name the certificate of its authority with sslrootcert in database_url'
    : ADVICE[code]
  return advice === undefined ? '' : `, ${advice}`
}

/** Whether the role lacks a permission. */
export function isForbidden(fault: unknown): boolean {
  return findCode(fault) === '42501'
}

function findCode(fault: unknown): string {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined
  return typeof code === 'string' ? code : ''
}
