import {
  FEED_KEY_STATEMENTS_MAX,
  type FeedKeyStatement,
  type PublicKey,
  parseFeedKeyStatement,
} from '@countersign/core'
import type { GuardClock } from './clock.ts'
import { createFeedKeyTrust, type FeedKeyPins, type KeyStanding } from './feed-key-trust.ts'

/** Finds the key that signed a heartbeat, a snapshot or an introspection. */
export interface FeedKeys {
  /**
   * Undefined for a key that is not trusted for this log. Rejects when discovery was needed and
   * failed.
   */
  find(kid: string, signal: AbortSignal): Promise<PublicKey | undefined>
  /** Why the last requested key is not trusted. */
  readonly problem: FeedKeyProblem | undefined
}

interface FeedKeyProblem {
  readonly code: string
  readonly detail: string
}

export interface FeedKeysOptions {
  /**
   * Keys to begin with, as Multikey by kid, or as `sha256:…` under any name. Without them the first
   * answer of discovery is trusted.
   */
  readonly pinned: FeedKeyPins | undefined
  readonly discovery: (signal: AbortSignal) => Promise<unknown>
  readonly clock: GuardClock
}

/** A caller that makes up key ids must not cause a call for each of them. */
const ASK_AGAIN_MS_MIN = 10_000
/** The longest time for which a withdrawn key stays trusted, while discovery can be reached. */
const ASK_AGAIN_MS_MAX = 60_000

/** Throws a TypeError for invalid pins. */
export function createFeedKeys({ pinned, discovery, clock }: FeedKeysOptions): FeedKeys {
  const trust = createFeedKeyTrust(pinned)
  let askedMs = -Infinity
  let asking: Promise<void> | undefined
  let problem: FeedKeyProblem | undefined

  const ask = async (signal: AbortSignal) => {
    const chain = parseChain(await discovery(signal))
    const now = clock.read()
    await trust.follow(chain ?? [], now)
    askedMs = now.monotonicMs
  }
  /** One call at a time: what is trusted depends on the order of the responses. */
  const askOnce = (signal: AbortSignal): Promise<void> => {
    asking ??= ask(signal).finally(() => {
      asking = undefined
    })
    return asking
  }

  return {
    get problem() {
      return problem
    },
    async find(kid, signal) {
      const { monotonicMs } = clock.read()
      const isTrusted = trust.find(kid, monotonicMs) !== undefined
      // A trusted key does not wait for discovery, which only checks for withdrawals.
      if (isTrusted && monotonicMs - askedMs >= ASK_AGAIN_MS_MAX) askOnce(signal).catch(() => undefined)
      else if (!isTrusted && monotonicMs - askedMs >= ASK_AGAIN_MS_MIN) await askOnce(signal)
      const nowMs = clock.read().monotonicMs
      problem = describeProblem(kid, trust.standing(kid, nowMs), trust.isEmpty)
      return trust.find(kid, nowMs)
    },
  }
}

/** Undefined for anything but a list of 1 to 16 statements, all of them readable. */
function parseChain(discovery: unknown): readonly FeedKeyStatement[] | undefined {
  const chain = (discovery as { feed?: { chain?: unknown } } | null)?.feed?.chain
  if (!Array.isArray(chain) || chain.length > FEED_KEY_STATEMENTS_MAX) return undefined
  const statements = chain.map(parseFeedKeyStatement)
  return statements.every((statement) => statement !== undefined) ? statements : undefined
}

const KID_CHARS_SHOWN = 64

function describeProblem(kid: string, standing: KeyStanding, isEmpty: boolean): FeedKeyProblem | undefined {
  const shown = kid.slice(0, KID_CHARS_SHOWN)
  if (standing === 'trusted') return undefined
  if (standing === 'withdrawn')
    return {
      code: 'feed_key_withdrawn',
      detail: `The service signs with feed key ${shown}, which has been withdrawn. Rejecting everything it signs.`,
    }
  if (isEmpty)
    return {
      code: 'feed_keys_unreadable',
      detail:
        'Discovery of the service has no chain of feed keys that can be read. Check baseUrl, and that service and SDK have the same version.',
    }
  return {
    code: 'feed_key_untrusted',
    detail:
      `The service signs with feed key ${shown}, but no signed chain leads to it from the keys that this guard trusts. ` +
      'Run countersign doctor where you trust the connection to the service and compare the pins it prints. ' +
      'If they are right, restart this guard, or set them as feedKeys.',
  }
}
