import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { createRowMacs } from '../../sealing/row-macs.ts'
import { createSealer } from '../../sealing/sealer.ts'
import { number } from '../columns.ts'
import { COMMITTED_MAX } from '../committed-part.ts'
import { RowForged } from '../errors.ts'
import { createTransaction, type OperationName } from '../operations/all.ts'
import type { ForgedRow } from '../transaction.ts'
import { isFatal, isUnavailable, openForWriting } from './connection.ts'
import { noStoreAt } from './file.ts'
import { migrate, schemaVersion } from './migrate.ts'
import { openMacKeyInFile } from './offline.ts'
import { SqliteSession } from './session.ts'
import type { Asked, FromWriter, Outcome, ToWriter, TransportedFault } from './writer-messages.ts'

export interface WriterOptions {
  readonly file: string
  /** Reject a file without a schema, instead of creating one. */
  readonly mustExist: boolean
  readonly masterKey: Uint8Array
}

const GROUP_MAX = 256
/** Operations that end their group: those after it do not wait for a second one. */
const BULK: ReadonlySet<OperationName> = new Set(['revokeAll'])
/**
 * Pages of 4 KiB in the write-ahead log, after which they are moved into the file, once all
 * requests have been answered.
 */
const WAL_PAGES_MAX = 2000

/**
 * The only writer of a SQLite file, in its own thread, so that a slow disk never delays a
 * verification. All waiting operations become one commit, and none is answered before it.
 */
export function startWriter(port: MessagePort, { file, masterKey, mustExist }: WriterOptions): void {
  const send = (message: FromWriter) => port.postMessage(message)
  let session: SqliteSession
  let macKey: string
  let db: ReturnType<typeof openForWriting> | undefined
  /** What the operations of this group have found, each of them once. */
  const forged: ForgedRow[] = []
  try {
    db = openForWriting(file)
    if (mustExist && schemaVersion(db) === 0) throw new Error(noStoreAt(file))
    migrate(db)
    macKey = openMacKeyInFile(db, createSealer(masterKey))
    session = new SqliteSession(db, {
      macs: createRowMacs(macKey),
      onForged: (row) => forged.push(row),
    })
  } catch (fault) {
    // Before the answer: the next one who opens the file must not find this one in it.
    db?.close()
    send({ kind: 'rejected', fault: toTransportedFault(fault) })
    port.close()
    return
  }
  send({ kind: 'ready', macKey })

  const end = (message: FromWriter) => {
    send(message)
    port.removeAllListeners('message')
    port.close()
  }

  port.on('message', (first: ToWriter) => {
    const group: Asked[] = []
    let isClosing = false
    for (let message: ToWriter | undefined = first; message !== undefined; message = next(port, group)) {
      if (message.kind === 'close') isClosing = true
      else group.push(message)
    }
    try {
      if (group.length > 0) {
        const done = writeGroup(session, group, forged)
        for (const row of forged.splice(0)) send({ kind: 'forged', row })
        send(done)
      }
      if (isClosing) {
        session.db.pragma('wal_checkpoint(TRUNCATE)')
        session.db.close()
        end({ kind: 'closed' })
      } else {
        checkpoint(session)
      }
    } catch (fault) {
      // It is unknown whether the last commit is durable. Only a new process that reads the file
      // can know.
      end({ kind: 'fatal', fault: toTransportedFault(fault) })
    }
  })
}

function next(port: MessagePort, group: readonly Asked[]): ToWriter | undefined {
  const last = group.at(-1)
  if (group.length >= GROUP_MAX || (last !== undefined && BULK.has(last.name))) return undefined
  return receiveMessageOnPort(port)?.message as ToWriter | undefined
}

/**
 * Throws when it is unknown whether the commit is durable. When the disk is full, nothing was
 * changed, and every request fails with that.
 */
function writeGroup(session: SqliteSession, group: readonly Asked[], forged: ForgedRow[]): FromWriter {
  const { db } = session
  session.appended.length = 0
  try {
    session.rows('BEGIN IMMEDIATE')
    let outcomes = writePlainly(session, group)
    if (outcomes === undefined) {
      forged.length = 0
      session.appended.length = 0
      session.rows('ROLLBACK')
      session.rows('BEGIN IMMEDIATE')
      outcomes = group.map((asked) => writeOne(session, asked))
    }
    session.rows('COMMIT')
    const { appended } = session
    const isMany = appended.length > COMMITTED_MAX
    return { kind: 'done', outcomes, hasAppended: appended.length > 0, appended: isMany ? [] : appended }
  } catch (fault) {
    if (isFatal(fault) || !isUnavailable(fault)) throw fault
    if (db.inTransaction) db.exec('ROLLBACK')
    return {
      kind: 'done',
      outcomes: group.map(({ id }) => ({ id, ok: false, fault: toTransportedFault(fault) })),
      hasAppended: false,
      appended: [],
    }
  }
}

/**
 * Without savepoints, for which SQLite keeps a copy of each page that is changed. Returns undefined
 * when one operation fails: then the caller rolls back, and writes each with a savepoint.
 */
function writePlainly(session: SqliteSession, group: readonly Asked[]): Outcome[] | undefined {
  try {
    return group.map(({ id, name, args }) => ({
      id,
      ok: true,
      answer: session.run(createTransaction(name, args)),
    }))
  } catch (fault) {
    if (isUnavailable(fault) || !session.db.inTransaction) throw fault
    return undefined
  }
}

/** An operation that fails rolls back alone; a store that fails rolls back the whole group. */
function writeOne(session: SqliteSession, { id, name, args }: Asked): Outcome {
  session.rows('SAVEPOINT operation')
  const appendedBefore = session.appended.length
  try {
    const answer = session.run(createTransaction(name, args))
    session.rows('RELEASE operation')
    return { id, ok: true, answer }
  } catch (fault) {
    if (isUnavailable(fault) || !session.db.inTransaction) throw fault
    session.appended.length = appendedBefore
    session.rows('ROLLBACK TO operation')
    session.rows('RELEASE operation')
    return { id, ok: false, fault: toTransportedFault(fault) }
  }
}

function checkpoint(session: SqliteSession): void {
  try {
    const [state] = session.rows('PRAGMA wal_checkpoint(NOOP)')
    if (state !== undefined && number(state, 'log') - number(state, 'checkpointed') > WAL_PAGES_MAX) {
      session.rows('PRAGMA wal_checkpoint(PASSIVE)')
    }
  } catch (fault) {
    // There is no space to move the pages; they are durable where they are.
    if (isFatal(fault) || !isUnavailable(fault)) throw fault
  }
}

function toTransportedFault(fault: unknown): TransportedFault {
  const { name, message } = fault instanceof Error ? fault : new Error(String(fault))
  const forged = fault instanceof RowForged ? { table: fault.table, key: fault.key } : undefined
  return { name, message, isUnavailable: isUnavailable(fault), ...(forged && { forged }) }
}
