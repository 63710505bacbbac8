import { type PublicKey, parseMultikey } from '@countersign/core'
import type { GuardClock } from './clock.ts'

/** Finds the key that a heartbeat or snapshot says it was signed with. */
export interface FeedKeys {
  /** Undefined for a key that does not sign for this log. Rejects when discovery was needed and could not be asked. */
  find(kid: string, signal: AbortSignal): Promise<PublicKey | undefined>
}

export interface FeedKeysOptions {
  /** When given, these count and nothing else does. */
  readonly pinned: Readonly<Record<string, string>> | undefined
  readonly discovery: (signal: AbortSignal) => Promise<unknown>
  readonly clock: GuardClock
}

/** Whoever invents names for keys must not make us ask for each of them. */
const ASK_AGAIN_MS_MIN = 10_000

/** Throws a TypeError for a pinned key that is none. */
export function createFeedKeys({ pinned, discovery, clock }: FeedKeysOptions): FeedKeys {
  const pins = Object.entries(pinned ?? {})
  let listed = keysOf(pins)
  if (listed.size < pins.length || (pinned !== undefined && pins.length === 0))
    throw new TypeError('feedKeys must give at least one Ed25519 key, as Multikey by its kid')
  let askedMs = -Infinity

  return {
    async find(kid, signal) {
      const { monotonicMs } = clock.read()
      if (!listed.has(kid) && pinned === undefined && monotonicMs - askedMs >= ASK_AGAIN_MS_MIN) {
        // What discovery no longer lists no longer signs.
        listed = keysOf(entriesOf(await discovery(signal)))
        askedMs = monotonicMs
      }
      return listed.get(kid)
    },
  }
}

function entriesOf(discovery: unknown): readonly (readonly [unknown, unknown])[] {
  const keys = (discovery as { feed?: { keys?: unknown } } | null)?.feed?.keys
  return Array.isArray(keys) ? keys.map((key) => [key?.kid, key?.public_key_multibase]) : []
}

/** Those that can sign a head; a service may list others for later versions. */
function keysOf(entries: readonly (readonly [unknown, unknown])[]): ReadonlyMap<string, PublicKey> {
  const keys = new Map<string, PublicKey>()
  for (const [kid, multikey] of entries) {
    const key = typeof multikey === 'string' ? parseMultikey(multikey) : undefined
    if (typeof kid === 'string' && key?.algorithm === 'Ed25519') keys.set(kid, key)
  }
  return keys
}
