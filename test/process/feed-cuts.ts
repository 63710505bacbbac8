import { createGuard } from '@countersign/sdk'
import { createRandom } from '../../bench/measure.ts'
import { PENDING_ENTRIES_MAX } from '../../packages/core/src/log/pending-entries.ts'
import { type GuardClock, systemClock } from '../../packages/sdk/src/feed/clock.ts'
import { createFeedKeys } from '../../packages/sdk/src/feed/feed-keys.ts'
import { LogFollower } from '../../packages/sdk/src/feed/log-follower.ts'
import { createVerifierApi } from '../../packages/sdk/src/feed/verifier-api.ts'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { newPpid } from '../../packages/service/test/party.ts'
import { addIssuer, createClient } from './client.ts'
import { type Cut, openCuttingProxy } from './cutting-proxy.ts'
import { pause } from './service-process.ts'

export interface FeedCutsOptions {
  readonly port: number
  readonly dev: DevFile
  readonly seed: number
  /** How many connections of the followers are cut, all together. */
  readonly cuts: number
  /** How many entries are written meanwhile, at least. */
  readonly entries: number
  readonly followers?: number
  /** Of the cuts, how many are silent: each of these costs a watchdog. */
  readonly silences?: number
  /** How much sooner a follower tries again and notices silence. Its age counts as always. */
  readonly haste?: number
  /**
   * Forces what a search would need long to find: the first connection of each follower is cut, and
   * its next one fails only when all entries are written. The guard is left alone.
   */
  readonly isForced?: boolean
  /** Control arm: ask for the feed from the head each time, as if the cursor did not matter. */
  readonly forgetsCursor?: boolean
  /** Control arm: an age that is counted from the last byte. */
  readonly trustsBytes?: boolean
  /** How long the followers may take to catch up at the end. */
  readonly drainMsMax?: number
  readonly onProgress?: (text: string) => void
}

/** What an observer outside of the SDK has seen. Every list should be empty. */
export interface FeedCutsReport {
  readonly cuts: Readonly<Record<Cut['how'], number>>
  readonly entries: number
  readonly followers: number
  /** Entries that a follower applied out of order, or not at all. */
  readonly misapplied: readonly string[]
  /**
   * Moments at which a follower stated an age that was less than that of an entry it did not have.
   */
  readonly flattering: readonly string[]
  /** Revoked users who were accepted later than the bound allows. */
  readonly late: readonly string[]
  /** From the acknowledgement to the first refusal, at worst. */
  readonly deniedMsMax: number
}

const STALENESS_SECONDS = 5
/** Times on the wire are whole milliseconds. */
const ROUNDING_MS = 3
const WRITERS = 4
/**
 * Writing waits while a follower has no proof of so many entries. A follower that applied more than
 * `PENDING_ENTRIES_MAX` without proof takes a snapshot, and here each one must apply every entry.
 */
const UNPROVEN_MAX = PENDING_ENTRIES_MAX - 1000
const DRAIN_MS_MAX = 60_000

interface Acknowledged {
  readonly seq: number
  readonly atMs: number
}

/**
 * Followers of one site's log behind a wire that cuts their connections in every way, while the log
 * grows; and a guard that is shown credentials of users who have just been revoked. Watches from
 * outside: what each follower applied, which age it stated, which users the guard accepted.
 */
export async function feedCuts(options: FeedCutsOptions): Promise<FeedCutsReport> {
  const {
    port,
    dev,
    seed,
    followers = 10,
    silences = 2,
    isForced = false,
    drainMsMax = DRAIN_MS_MAX,
    onProgress = () => {},
  } = options
  const random = createRandom(seed)
  const cuts = isForced ? followers : options.cuts
  /** A connection that ended before it was cut leaves its cut to another one. */
  const countLeft = (): number => {
    const { reset, end, silence } = proxy.made
    return cuts - reset - end - silence - proxy.pending
  }
  let silencesLeft = silences
  const proxy = await openCuttingProxy(port, () => {
    if (countLeft() <= 0) return undefined
    if (isForced) return { how: 'end', afterBytes: 0, afterMs: 0 }
    // The first ones: all the others are made while these are waited for.
    const isSilent = silencesLeft > 0
    if (isSilent) silencesLeft--
    return {
      how: isSilent ? 'silence' : random() < 0.5 ? 'reset' : 'end',
      // From a part of the first line to more than a thousand entries, and short ones most often.
      afterBytes: Math.floor(20 * 20_000 ** random()),
      afterMs: 50 + random() * 1500,
    }
  })
  const client = createClient(`http://127.0.0.1:${port}`, dev)
  const issuer = await addIssuer(client, dev)
  let allWritten = () => {}
  const written = new Promise<void>((resolve) => (allWritten = resolve))
  const watched = Array.from({ length: followers }, (_, n) =>
    follow(`follower-${n}`, proxy.port, options, written),
  )
  const guard = createGuard({
    baseUrl: `http://127.0.0.1:${isForced ? port : proxy.port}`,
    siteId: dev.site_id,
    apiKey: dev.site_key,
    maxStalenessSeconds: STALENESS_SECONDS,
    onStateChange: () => {},
  })

  const acknowledged: Acknowledged[] = []
  const late: string[] = []
  const flattering: string[] = []
  let deniedMsMax = 0
  let isOver = false
  let count = 0

  const watching = (async () => {
    for (; !isOver; await pause(10)) {
      for (const { name, client: follower, ageMs } of watched) {
        const { seq } = follower.view.head
        const age = ageMs()
        const oldest = oldestAfter(acknowledged, seq)
        const missedMs = oldest === undefined ? 0 : performance.now() - oldest.atMs
        // Read in this order: whatever was applied in between makes the age only greater.
        if (age < missedMs - ROUNDING_MS)
          flattering.push(`${name} at ${seq} said ${Math.round(age)} ms, ${Math.round(missedMs)} ms too late`)
      }
    }
  })()
  const isFarBehind = ({ client: { view } }: Watched) =>
    (acknowledged.at(-1)?.seq ?? 0) - (view.provenHead?.seq ?? 0) > UNPROVEN_MAX
  /** Entries are written as evenly as connections are cut. */
  const turnToWrite = async () => {
    while (!isOver && (count / options.entries > 1 - countLeft() / cuts || watched.some(isFarBehind)))
      await pause(10)
  }
  const write = async () => {
    while (count < options.entries) {
      await turnToWrite()
      await revoke(newPpid())
      await pause(1)
    }
  }
  const revoke = async (ppid: string) => {
    count++
    const told = await client.revokeUser(ppid)
    if (told.status !== 200)
      throw new Error(`a revocation was answered with ${told.status}: ${JSON.stringify(told.body)}`)
    acknowledged.push({ seq: told.body.seq, atMs: performance.now() })
  }
  /**
   * One after the other: a credential that is accepted, its user revoked, and how long it is
   * accepted after that.
   */
  const challenge = async () => {
    while (!isOver && count < options.entries) {
      await turnToWrite()
      const { header, ppid } = await issuer.issue()
      const show = () =>
        guard.verify({
          method: 'GET',
          url: `https://${dev.site_id}/`,
          header: (name) => (name === 'x-service-credential' ? [header] : []),
        })
      await show()
      await revoke(ppid)
      const ackMs = performance.now()
      for (;;) {
        const askedMs = performance.now()
        const { ok } = await show()
        if (!ok) {
          deniedMsMax = Math.max(deniedMsMax, askedMs - ackMs)
          break
        }
        if (askedMs - ackMs > STALENESS_SECONDS * 1000 + ROUNDING_MS) {
          late.push(`${ppid} was accepted ${Math.round(askedMs - ackMs)} ms after the acknowledgement`)
          break
        }
        await pause(5)
      }
    }
  }
  const reporting = setInterval(() => onProgress(`${cuts - countLeft()} cuts, ${count} entries`), 2000)
  try {
    await guard.ready()
    while (isForced && proxy.made.end < followers) await pause(5)
    await Promise.all([...Array.from({ length: WRITERS }, write), challenge()])
    allWritten()
    while (proxy.pending > 0) await pause(10)
    // Back, and with whatever they ask for.
    const isBack = ({ client: follower }: Watched) => follower.connection === 'following'
    while (isForced && !watched.every(isBack)) await pause(10)
    const lastSeq = Math.max(...acknowledged.map(({ seq }) => seq))
    const drainedMs = performance.now() + drainMsMax
    while (
      watched.some(({ client: follower }) => follower.view.head.seq < lastSeq) &&
      performance.now() < drainedMs
    )
      await pause(50)
    return {
      cuts: proxy.made,
      entries: count,
      followers,
      misapplied: watched.flatMap((one) => faultsIn(one, lastSeq)),
      flattering,
      late,
      deniedMsMax,
    }
  } finally {
    isOver = true
    allWritten()
    clearInterval(reporting)
    await watching
    await guard.close()
    await Promise.all(watched.map(({ client: follower }) => follower.close()))
    await proxy.close()
  }
}

interface Watched {
  readonly name: string
  readonly client: LogFollower
  readonly ageMs: () => number
  /** The seq with which it began, and all that it applied after that. */
  readonly applied: number[]
}

function follow(
  name: string,
  port: number,
  { dev, haste = 1, isForced = false, forgetsCursor = false, trustsBytes = false }: FeedCutsOptions,
  written: Promise<void>,
): Watched {
  const clock: GuardClock = {
    ...systemClock,
    after: (ms, callback) => systemClock.after(ms / haste, callback),
  }
  let feeds = 0
  let hasLost = false
  let byteMs = Number.NEGATIVE_INFINITY
  const service = createVerifierApi({
    baseUrl: `http://127.0.0.1:${port}`,
    siteId: dev.site_id,
    apiKey: dev.site_key,
    verifierId: name,
    instance: { instanceId: `${name}-1`, ageMsMax: 30_000, failsOpen: false },
    clock,
    fetch: async (url, init) => {
      const headers = new Headers(init.headers)
      if (forgetsCursor) headers.delete('last-event-id')
      if (isForced && !hasLost && new URL(url).pathname.endsWith('/feed') && ++feeds > 1) {
        await written
        hasLost = true
        throw new Error('the connection was lost')
      }
      return fetch(url, { ...init, headers })
    },
  })
  const keys = createFeedKeys({ pinned: undefined, discovery: service.discovery, clock })
  const onChange = () => {
    byteMs = performance.now()
  }
  const client = new LogFollower({
    siteId: dev.site_id as never,
    api: service,
    keys,
    clock,
    onChange,
  })
  const applied: number[] = []
  const { view } = client
  const apply = view.apply.bind(view)
  view.apply = (entry) => {
    const before = view.head.seq
    const outcome = apply(entry)
    if (applied.length === 0) applied.push(before)
    if (outcome === 'applied') applied.push(entry.seq)
    return outcome
  }
  client.start()
  return {
    name,
    client,
    ageMs: trustsBytes ? () => performance.now() - byteMs : () => client.ageMs(),
    applied,
  }
}

function faultsIn({ name, applied, client }: Watched, lastSeq: number): string[] {
  const faults = applied.flatMap((seq, i) => {
    const before = applied[i - 1]
    return before === undefined || seq === before + 1 ? [] : [`${name} applied ${seq} after ${before}`]
  })
  if (client.view.head.seq < lastSeq) faults.push(`${name} is at ${client.view.head.seq} of ${lastSeq}`)
  // Knows it all, but from a snapshot: entries were missed on the way.
  else if ((applied.at(-1) ?? lastSeq) < lastSeq)
    faults.push(`${name} applied nothing after ${applied.at(-1)}`)
  return faults
}

/** The first to be acknowledged of those that come after `seq`. */
function oldestAfter(acknowledged: readonly Acknowledged[], seq: number): Acknowledged | undefined {
  let oldest: Acknowledged | undefined
  for (let i = acknowledged.length - 1; i >= 0; i--) {
    const one = acknowledged[i] as Acknowledged
    if (one.seq > seq && (oldest === undefined || one.atMs < oldest.atMs)) oldest = one
    // Acknowledgements come nearly in order; what is far behind needs no look.
    if (one.seq < seq - 1000) break
  }
  return oldest
}
