import { setTimeout as pause } from 'node:timers/promises'
import type { CredentialId, LogPosition, SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { loadCurrentView } from '../log/load-current-view.ts'
import { toCredentialName } from '../store/credential-name.ts'
import type { AuditContext, AuditRow, AuditSelection } from '../store/operations/audit.ts'
import type { ErasedAuditRow, ErasedUser, UserRowCounts } from '../store/operations/erasure.ts'
import { signOutUser } from './cut-off.ts'

type EraseDeps = Pick<Deps, 'store' | 'views' | 'seen'>

interface ErasureCounts extends UserRowCounts {
  readonly credentials: number
  readonly auditRows: number
}

export interface Erasure extends LogPosition {
  readonly erased: ErasureCounts
}

/** The ids under which rows of the audit may name the user. */
interface UserNames {
  readonly names: Set<string>
  readonly credentialIds: readonly CredentialId[]
}

/** Rows that are read at a time: about a millisecond of work. */
const BATCH = 100
const ISSUE = 'credential.issue'

/**
 * Erases what the store has about a user, after signing the user out, so that nothing which was
 * issued until now is valid. The log keeps the pairwise ids, because it must go on denying. When
 * this fails halfway, calling it again continues. Calls `confirm` before everything that it erases,
 * and stops when that rejects, because the access of the caller has ended meanwhile.
 */
export async function eraseUser(
  deps: EraseDeps,
  user: ErasedUser,
  context: AuditContext,
  confirm: () => Promise<void>,
): Promise<Erasure> {
  const { store } = deps
  const { siteId, ppids } = user
  await deps.seen.flush()
  const beforeMs = context.atMs
  // First: the rows that are erased must not be needed to end anything.
  const { epoch, seq } = await signOutUser(deps, { siteId, ppids, beforeMs, reason: undefined }, context)
  // Until then this node accepted credentials, and records of them may still wait.
  await deps.seen.flush()
  const { names, credentialIds } = await loadNames(deps, user)
  await confirm()
  await store.recordErasureStart(siteId, context)
  // Before the credentials, whose ids say which rows of the audit are about the user.
  const auditRows = await readAudit(deps, siteId, names, async (about) => {
    await confirm()
    await store.eraseAuditRows(about.map((row) => toErased(row, names)))
  })
  await confirm()
  const rows = await store.eraseUserRows(user)
  let credentials = 0
  for (let i = 0; i < credentialIds.length; i += BATCH) {
    await confirm()
    credentials += await store.eraseCredentials(user, credentialIds.slice(i, i + BATCH), beforeMs)
  }
  const erased = { ...rows, credentials, auditRows }
  await store.recordErasure(siteId, { ...rows, credentials, audit_rows: auditRows }, context)
  return { erased, epoch, seq }
}

/** What an erasure would remove now. Changes nothing. */
export async function previewErasure(deps: EraseDeps, user: ErasedUser): Promise<Erasure> {
  await deps.seen.flush()
  const { head } = await loadCurrentView(deps, user.siteId)
  const { names, credentialIds } = await loadNames(deps, user)
  const rows = await deps.store.countUserRows(user)
  const auditRows = await readAudit(deps, user.siteId, names, async () => {})
  const erased = { ...rows, credentials: credentialIds.length, auditRows }
  return { erased, epoch: head.epoch, seq: head.seq }
}

async function loadNames({ store }: Pick<Deps, 'store'>, { siteId, ppids }: ErasedUser): Promise<UserNames> {
  const names = new Set<string>(ppids)
  const credentialIds: CredentialId[] = []
  for (const ppid of ppids) {
    for await (const page of loadPages(
      (after) => store.credentials(siteId, { ppid }, { after, limit: BATCH }),
      toCredentialName,
    ))
      for (const { credentialId } of page) {
        names.add(credentialId)
        credentialIds.push(credentialId)
      }
    for await (const page of loadPages(
      (after) => store.tokens(siteId, { ppid }, { after, limit: BATCH }),
      (token) => token.jti,
    ))
      for (const { jti, sha256 } of page) names.add(jti).add(sha256)
  }
  // Credentials that expired long ago are no longer known. The audit has those that were issued
  // here.
  for await (const page of loadAuditPages(store, siteId, { column: 'action', value: ISSUE }))
    addIssued(names, page)
  return { names, credentialIds }
}

/** Adds the ids of the credentials that were issued to the user. */
function addIssued(names: Set<string>, page: readonly AuditRow[]): void {
  for (const { action, target, detail } of page)
    if (action === ISSUE && target !== undefined && names.has(String(detail.ppid))) names.add(target)
}

/**
 * Returns how many rows name the user. They have no index by name, so all of them are read. The
 * oldest come first, so that rows are read, too, that are added meanwhile.
 */
async function readAudit(
  { store }: Pick<Deps, 'store'>,
  site: SiteId,
  names: Set<string>,
  onFound: (about: readonly AuditRow[]) => Promise<void>,
): Promise<number> {
  let count = 0
  // Rows of no site are about tokens that no site was named for.
  for (const siteId of [null, site])
    for await (const page of loadAuditPages(store, siteId)) {
      if (siteId !== null) addIssued(names, page)
      const about = page.filter((row) => namesUser(row, names))
      if (about.length > 0) await onFound(about)
      count += about.length
    }
  return count
}

function loadAuditPages(
  store: Pick<Deps['store'], 'selectAuditRows'>,
  siteId: SiteId | null,
  by?: AuditSelection['by'],
): AsyncGenerator<readonly AuditRow[]> {
  const selection = { siteId, by, fromMs: undefined, toMs: undefined, order: 'oldest' } as const
  return loadPages(
    (after) => store.selectAuditRows(selection, { after, limit: BATCH }),
    ({ id }) => id,
  )
}

function namesUser({ target, detail, context }: AuditRow, names: ReadonlySet<string>): boolean {
  const isName = (value: unknown) => typeof value === 'string' && names.has(value)
  return (
    isName(target) ||
    isName(findHolder(context.actor)) ||
    Object.values(detail).some((value) => (Array.isArray(value) ? value.some(isName) : isName(value)))
  )
}

/**
 * Keeps the action, its time, its outcome and who acted. A reason is text that may name the person,
 * and the seq leads to the entry with the pairwise id.
 */
function toErased({ id, detail, context }: AuditRow, names: ReadonlySet<string>): ErasedAuditRow {
  const kept = Object.entries(detail).filter(([, value]) => typeof value === 'number' || value === null)
  const holder = findHolder(context.actor)
  return {
    id,
    actor: holder !== undefined && names.has(holder) ? 'holder' : context.actor,
    detail: { ...Object.fromEntries(kept), outcome: detail.outcome ?? null, reason: null, seq: null },
  }
}

/** The credential of the holder who acted. */
function findHolder(actor: string): string | undefined {
  return actor.startsWith('holder:') ? actor.slice('holder:'.length) : undefined
}

/**
 * Reads at most half of the time: on SQLite, a read keeps the node from everything else. Also
 * pauses after the last page, because another read follows.
 */
async function* loadPages<Row>(
  loadPage: (after: string | undefined) => Promise<readonly Row[]>,
  toName: (row: Row) => string,
): AsyncGenerator<readonly Row[]> {
  for (let after: string | undefined; ; ) {
    const beganMs = performance.now()
    const page = await loadPage(after)
    await pause(performance.now() - beganMs)
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < BATCH) return
    after = toName(last)
  }
}
