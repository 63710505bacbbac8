import { type AllowCredential, findRoot, listChain, toPermissionId } from '@countersign/core'
import type { Logger } from 'pino'
import type { SeenCredential, Store } from '../store/store.ts'

/**
 * Writes down, in the background, which credentials have been shown. A verdict never waits for it.
 */
export interface SeenCredentials {
  /**
   * To be written within a second. What was written lately is passed over; when there is too much
   * to write, some of it is not.
   */
  record(allow: AllowCredential): void
  /** Resolves when all that was recorded so far has been written or given up. */
  flush(): Promise<void>
  close(): Promise<void>
}

export interface SeenCredentialsOptions {
  readonly store: Pick<Store, 'learnCredentials'>
  readonly nowMs: () => number
  readonly log: Pick<Logger, 'warn'>
  readonly delayMs?: number
  readonly waitingMax?: number
  readonly recentMax?: number
}

const BATCH = 500
/**
 * The holder of a delegable credential can make any number of credentials from it, and what is
 * written stays: so many of one root in this time.
 */
const DELEGATED_MAX = 100
const DELEGATED_WINDOW_MS = 600_000

/**
 * Bounded in what waits and in what it remembers. A batch that the store refuses is given up: the
 * credential will be shown again.
 */
export function createSeenCredentials(options: SeenCredentialsOptions): SeenCredentials {
  const { store, nowMs, log, delayMs = 250, waitingMax = 10_000, recentMax = 50_000 } = options
  let recent = new Names()
  let lessRecent = new Names()
  let waiting: SeenCredential[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  let delegated = new Map<string, number>()
  let delegatedWindow = 0

  const isOneTooMany = ({ subject, credential }: AllowCredential): boolean => {
    if (credential.parent === undefined) return false
    const window = Math.floor(nowMs() / DELEGATED_WINDOW_MS)
    if (window !== delegatedWindow) delegated = new Map()
    delegatedWindow = window
    const root = `${subject.siteId} ${findRoot(credential).id}`
    const before = delegated.get(root) ?? 0
    if (before >= DELEGATED_MAX || (before === 0 && delegated.size >= recentMax)) return true
    delegated.set(root, before + 1)
    return false
  }

  const write = async () => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH)
      try {
        await store.learnCredentials(batch, nowMs())
      } catch (err) {
        for (const seen of batch) {
          recent.delete(seen)
          lessRecent.delete(seen)
        }
        log.warn({ err, count: batch.length }, 'credentials that were shown could not be written down')
      }
    }
  }

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(write)
    return writing
  }

  return {
    record(allow) {
      const { subject } = allow
      if (recent.has(subject) || lessRecent.has(subject)) return
      if (waiting.length >= waitingMax || isOneTooMany(allow)) return
      if (recent.size >= recentMax / 2) {
        lessRecent = recent
        recent = new Names()
      }
      recent.add(subject)
      waiting.push(seenCredential(allow, 'presented'))
      if (timer === undefined) {
        timer = setTimeout(() => void flush(), delayMs)
        timer.unref()
      }
    },
    flush,
    async close() {
      await flush()
      waiting = []
    },
  }
}

type Name = Pick<SeenCredential, 'siteId' | 'credentialId'>

/**
 * Credentials by site and id. Nothing is put together for a look-up: there is one for every
 * request.
 */
class Names {
  size = 0
  private readonly ofSite = new Map<string, Set<string>>()

  has({ siteId, credentialId }: Name): boolean {
    return this.ofSite.get(siteId)?.has(credentialId) ?? false
  }

  add({ siteId, credentialId }: Name): void {
    const ids = this.ofSite.get(siteId)
    if (ids === undefined) this.ofSite.set(siteId, new Set([credentialId]))
    else ids.add(credentialId)
    this.size++
  }

  delete({ siteId, credentialId }: Name): void {
    if (this.ofSite.get(siteId)?.delete(credentialId)) this.size--
  }
}

/** What the store keeps of a credential that was accepted. */
export function seenCredential(
  { subject, credential }: AllowCredential,
  source: SeenCredential['source'],
): SeenCredential {
  return {
    siteId: subject.siteId,
    credentialId: subject.credentialId,
    ppid: subject.ppid,
    issuer: findRoot(credential).issuer,
    scope: subject.scope,
    permissionId: toPermissionId(credential),
    chain: listChain(credential),
    validFromMs: credential.validFromMs,
    validUntilMs: credential.validUntilMs,
    holderBound: credential.holderKey !== undefined,
    source,
  }
}
