import type { FeedStreamRow } from '../store/store.ts'

/** Somebody who follows a site's feed, over however many connections. */
export interface ConnectedVerifier {
  readonly verifierId: string
  readonly keyId: string
  /** Since when, without a break. */
  readonly connectedAtMs: number
  /** How far it has applied the log. */
  readonly seq: number
  readonly acknowledgedAtMs: number | undefined
  readonly streams: readonly FeedStreamRow[]
}

/** An entry, and when it was made. */
export interface PlacedInTime {
  readonly epoch: string
  readonly seq: number
  readonly atMs: number
}

/** How far an entry has got among those who are connected now. */
export interface Receipt {
  readonly connected: number
  readonly acknowledged: number
  /** From the moment the entry says until the last of them said that it has it; while some have not, until now. */
  readonly elapsedMs: number
  /** Those who have not, the furthest behind first. */
  readonly laggards: readonly { readonly verifierId: string; readonly seq: number }[]
}

/**
 * One for each name under each key. A verifier that connects anew may for a while have two connections, of which one is dead: whichever has come
 * further counts.
 */
export function verifiersOf(streams: Iterable<FeedStreamRow>, epoch: string): readonly ConnectedVerifier[] {
  const byName = Map.groupBy(streams, ({ keyId, verifierId }) => `${verifierId} ${keyId}`)
  return [...byName.values()].map((own) => {
    const { verifierId, keyId } = own[0] as FeedStreamRow
    const current = own.filter((stream) => stream.epoch === epoch)
    const times = current.flatMap(({ acks }) => acks.map(({ atMs }) => atMs))
    return {
      verifierId,
      keyId,
      connectedAtMs: Math.min(...own.map(({ connectedAtMs }) => connectedAtMs)),
      seq: Math.max(0, ...current.map(({ seq }) => seq)),
      acknowledgedAtMs: times.length === 0 ? undefined : Math.max(...times),
      streams: current,
    }
  })
}

export function receiptOf(verifiers: readonly ConnectedVerifier[], { seq, atMs }: PlacedInTime, nowMs: number): Receipt {
  const laggards = verifiers.filter((verifier) => verifier.seq < seq).sort((one, other) => one.seq - other.seq)
  const lastMs = laggards.length > 0 ? nowMs : Math.max(atMs, ...verifiers.map((verifier) => heardAtMs(verifier, seq) ?? atMs))
  return {
    connected: verifiers.length,
    acknowledged: verifiers.length - laggards.length,
    elapsedMs: Math.max(0, lastMs - atMs),
    laggards: laggards.map(({ verifierId, seq: applied }) => ({ verifierId, seq: applied })),
  }
}

/** When somebody first said that it has the entry; undefined when it had it before it connected. */
function heardAtMs({ streams }: ConnectedVerifier, seq: number): number | undefined {
  const times = streams.flatMap(({ acks }) => acks.find((ack) => ack.seq >= seq)?.atMs ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}
