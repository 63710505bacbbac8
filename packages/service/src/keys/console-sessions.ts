import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { BoundedMap } from '../bounded-map.ts'
import type { ConsoleSession } from '../store/operations/console-sessions.ts'
import type { Person } from '../store/operations/people.ts'
import type { Store } from '../store/store.ts'
import { createSecretCache } from './secret-cache.ts'
import { secretSha256 } from './secret-text.ts'

/** A session with its person, as both are now. */
export interface SignedIn {
  readonly session: ConsoleSession
  readonly person: Person
}

/** The sessions of people in the console, cached as `createSecretCache` says. */
export interface ConsoleSessions {
  /**
   * The session with this secret, which counts as used unless `isUse` is false. Undefined if there
   * is none, it has ended or was not used for too long, and if the access of its person was ended.
   * With `isFresh` the store is queried now.
   */
  find(secret: string, nowMs: number, isUse?: boolean, isFresh?: boolean): Promise<SignedIn | undefined>
  /** Whether the secret was valid when it was last looked up. */
  wasGood(secret: string): boolean
  /** Call this after a person was changed, or a session was ended. */
  forget(personId: string): void
  /** Resolves when every use is recorded, or could not be. */
  close(): Promise<void>
}

const SECRET = /^[A-Za-z0-9_-]{43}$/
/** How often the use of a session is written to the store. */
const TOUCHED_EVERY_MS = 60_000
const TOUCHED_MAX = 10_000

/** Whether the text has the form of the secret of a session. */
export function isSessionSecret(text: string): boolean {
  return SECRET.test(text)
}

/** Whether the session has expired, or was not used for too long. */
export function isSessionOver(
  { expiresAtMs, seenAtMs }: Pick<ConsoleSession, 'expiresAtMs' | 'seenAtMs'>,
  nowMs: number,
): boolean {
  return expiresAtMs <= nowMs || seenAtMs + limits.console_idle_seconds * 1000 <= nowMs
}

export function createConsoleSessions(
  { store, log }: { store: Pick<Store, 'consoleSession' | 'touchConsoleSession'>; log: Logger },
  monotonicMs: () => number = () => performance.now(),
): ConsoleSessions {
  const sessions = createSecretCache((sha256) => store.consoleSession(sha256), monotonicMs)
  const touchedAtMs = new BoundedMap<string, number>(TOUCHED_MAX)
  const running = new Set<Promise<void>>()

  const touch = ({ sha256, seenAtMs, sessionId }: ConsoleSession, nowMs: number): void => {
    const last = touchedAtMs.get(sha256)
    if (nowMs - seenAtMs < TOUCHED_EVERY_MS) return
    if (last !== undefined && monotonicMs() - last < TOUCHED_EVERY_MS) return
    touchedAtMs.set(sha256, monotonicMs())
    const writing = store
      .touchConsoleSession(sha256, nowMs)
      .catch((error: unknown) => log.warn({ err: error, session_id: sessionId }, 'could not record a use'))
      .finally(() => running.delete(writing))
    running.add(writing)
  }

  return {
    async find(secret, nowMs, isUse = true, isFresh = false) {
      if (!isSessionSecret(secret)) return undefined
      const found = await sessions.find(secretSha256(secret), isFresh)
      if (found === undefined) return undefined
      if (isSessionOver(found.session, nowMs)) return undefined
      if (isUse) touch(found.session, nowMs)
      return found
    },
    wasGood: (secret) => sessions.has(secretSha256(secret)),
    forget: (personId) => sessions.forget(({ person }) => person.personId === personId),
    async close() {
      await Promise.all(running)
    },
  }
}
