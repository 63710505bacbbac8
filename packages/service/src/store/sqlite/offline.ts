import { type AuditedStore, auditLog, type LogAudit, type OnPage } from '../audit-log.ts'
import type { Program } from '../program.ts'
import { createStoreVerbs, type RunVerb, readingVerbs, type StoreVerbs, writingVerbs } from '../verbs/all.ts'
import { openForReading } from './connection.ts'
import { SqliteSession } from './session.ts'

/** Runs verbs on one connection, in this thread: for files that no service has open. */
export function runOffline(session: SqliteSession): RunVerb {
  return (async (name: string, ...args: readonly unknown[]) => {
    const verb = { ...readingVerbs, ...writingVerbs }[name as 'site'] as unknown as (...args: readonly unknown[]) => Program<unknown>
    const isReading = Object.hasOwn(readingVerbs, name)
    return isReading ? session.run(verb(...args)) : session.db.transaction(() => session.run(verb(...args))).immediate()
  }) as RunVerb
}

/** Reads the whole log of a file, in use or not, and says where it first fails. */
export async function auditFile(file: string, onPage?: OnPage): Promise<LogAudit> {
  const session = new SqliteSession(openForReading(file))
  try {
    return await auditSession(session, onPage)
  } finally {
    session.db.close()
  }
}

/** Lets `work` read a file, in use or not. */
export async function readFromFile<T>(file: string, work: (verbs: StoreVerbs) => Promise<T>): Promise<T> {
  const session = new SqliteSession(openForReading(file))
  try {
    return await work(createStoreVerbs(runOffline(session), () => ''))
  } finally {
    session.db.close()
  }
}

export async function auditSession(session: SqliteSession, onPage?: OnPage): Promise<LogAudit> {
  const run = runOffline(session)
  const state = await run('logState')
  if (state === undefined) return { ok: true, position: 0, sites: 0 }
  const store: AuditedStore = { ...createStoreVerbs(run, () => state.epoch), epoch: state.epoch }
  return auditLog(store, onPage)
}
