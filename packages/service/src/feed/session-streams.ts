import type { SiteId } from '@countersign/core'
import { rolePermissions } from '@countersign/core/contract'
import { isSessionOver } from '../keys/console-sessions.ts'
import type { Person } from '../store/operations/people.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { FeedStream } from './feed-stream.ts'

/** The session of a person who follows a feed in the console. */
export interface StreamSession {
  readonly sha256: string
  readonly expiresAtMs: number
}

interface SessionStreamsParts {
  readonly store: Pick<Store, 'consoleSessionsBySha256'>
  readonly clock: Pick<Clock, 'nowMs'>
}

const SESSIONS_QUERIED_MAX = 256

/**
 * The streams of people on this node. A stream is no use of its session: one that only follows a
 * feed ends when it was not used for too long.
 */
export class SessionStreams {
  readonly #parts: SessionStreamsParts
  readonly #sessions = new Map<FeedStream, StreamSession>()

  constructor(parts: SessionStreamsParts) {
    this.#parts = parts
  }

  add(stream: FeedStream, session: StreamSession): void {
    this.#sessions.set(stream, session)
  }

  remove(stream: FeedStream): void {
    this.#sessions.delete(stream)
  }

  /** Whether this person may follow this site now. Asks the store, which other nodes change. */
  async mayFollow({ sha256 }: StreamSession, siteId: SiteId): Promise<boolean> {
    const people = await this.#loadPeople([sha256])
    return canFollow(people.get(sha256), siteId)
  }

  /** Ends every stream whose session, person or role has ended. */
  async check(): Promise<void> {
    const nowMs = this.#parts.clock.nowMs()
    // Without the store, too.
    for (const [stream, { expiresAtMs }] of this.#sessions) if (expiresAtMs <= nowMs) end(stream)
    const asked = [...new Set([...this.#sessions.values()].map(({ sha256 }) => sha256))]
    for (let from = 0; from < asked.length; from += SESSIONS_QUERIED_MAX) {
      const queried = new Set(asked.slice(from, from + SESSIONS_QUERIED_MAX))
      const people = await this.#loadPeople([...queried])
      for (const [stream, { sha256 }] of this.#sessions)
        if (queried.has(sha256) && !canFollow(people.get(sha256), stream.verifier.siteId)) end(stream)
    }
  }

  /** The person of each session that is valid now. */
  async #loadPeople(sha256s: readonly string[]): Promise<ReadonlyMap<string, Person>> {
    const { store, clock } = this.#parts
    const found = await store.consoleSessionsBySha256(sha256s)
    const nowMs = clock.nowMs()
    return new Map(
      found.flatMap(({ session, person }) =>
        isSessionOver(session, nowMs) ? [] : [[session.sha256, person] as const],
      ),
    )
  }
}

function canFollow(person: Person | undefined, siteId: SiteId): boolean {
  return (
    person?.roles.some(
      ({ siteId: at, role }) =>
        (role === 'operator' || at === siteId) && rolePermissions[role].includes('feed:read'),
    ) ?? false
  )
}

function end(stream: FeedStream): void {
  stream.close('key', '')
}
