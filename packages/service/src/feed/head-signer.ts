import { formatTime, type Heartbeat, type LogHead, type SiteId, signHeartbeat } from '@countersign/core'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { LiveViews } from '../log/live-views.ts'
import type { Clock } from '../time/clock.ts'
import { heartbeatText } from './event-text.ts'
import type { HeadAges } from './head-ages.ts'

export interface HeadSignerParts {
  readonly views: Pick<LiveViews, 'view' | 'age' | 'readiness'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly keys: Pick<ServiceKeys, 'feedKey'>
  readonly ages: HeadAges
  /** Whether signed heads may be given to all current readers of the site. */
  readonly mayConfirmHeads: () => boolean
  /** A node that has not heard from its store for longer than this signs nothing. */
  readonly silentMs: number
}

export interface SignedHead {
  readonly head: LogHead
  readonly asOfMs: number
  readonly heartbeat: Heartbeat
  /** The heartbeat as an event of the feed. */
  readonly text: string
}

/** The maximum age of a heartbeat that is given to a reader that has just connected. */
const REUSED_MS = 1000

/** Signs the heads of one site. */
export class HeadSigner {
  readonly #siteId: SiteId
  readonly #parts: HeadSignerParts
  #last: SignedHead | undefined

  constructor(siteId: SiteId, parts: HeadSignerParts) {
    this.#siteId = siteId
    this.#parts = parts
  }

  /** See `FeedSource.confirmHead`. */
  async confirm(head: LogHead, isNew: boolean): Promise<string | undefined> {
    return (await this.sign(head, isNew))?.text
  }

  /** Undefined when this node must not sign the head: see `FeedSource.confirmHead`. */
  async sign(head: LogHead, isNew: boolean): Promise<SignedHead | undefined> {
    const { views, clock, keys, ages, mayConfirmHeads, silentMs } = this.#parts
    const known = views.view(this.#siteId)?.head
    const { ageMs, asOfMs } = views.age()
    if (!isSameHead(known, head) || !(ageMs <= silentMs) || !views.readiness().ready) return undefined
    if (!mayConfirmHeads()) return undefined
    const last = this.#last
    if (!isNew && last !== undefined && isSameHead(last.head, head) && isRecent(last, asOfMs)) return last
    const max_age_seconds = ages.seconds(this.#siteId)
    if (typeof max_age_seconds !== 'number') {
      await max_age_seconds
      // The view may have changed meanwhile, and the value belongs to the current view.
      return this.sign(head, isNew)
    }
    const { kid, key } = keys.feedKey(clock.nowMs())
    const { epoch, seq, hash } = head
    const as_of = formatTime(asOfMs)
    const fields = { site_id: this.#siteId, epoch, seq, hash, as_of, max_age_seconds, kid }
    const heartbeat = await signHeartbeat(fields, key)
    this.#last = { head, asOfMs, heartbeat, text: heartbeatText(heartbeat) }
    return this.#last
  }
}

/** A new epoch continues the numbers of the former one, so the number alone is not enough. */
function isSameHead(one: LogHead | undefined, { epoch, seq, hash }: LogHead): boolean {
  return one?.epoch === epoch && one.seq === seq && one.hash === hash
}

/** False after the clock was set back: that heartbeat would be from the future. */
function isRecent(last: SignedHead, asOfMs: number): boolean {
  const olderMs = asOfMs - last.asOfMs
  return olderMs >= 0 && olderMs < REUSED_MS
}
