import { limits } from '@countersign/core/contract'
import { Problem } from '../problem.ts'
import type { FeedStream } from './feed-stream.ts'

interface KeyStreams {
  readonly isPerson: boolean
  /** Connections that were accepted, open or not yet, and how many of them are observers. */
  count: number
  observers: number
  readonly streams: Set<FeedStream>
}

/** The feed connections of each API key on this node, and of each person in the console. */
export class KeyConnections {
  readonly #keys = new Map<string, KeyStreams>()

  /** How many streams are open. */
  get size(): number {
    let size = 0
    for (const { streams } of this.#keys.values()) size += streams.size
    return size
  }

  /** Without people. */
  get keyIds(): readonly string[] {
    return [...this.#keys].flatMap(([keyId, { isPerson }]) => (isPerson ? [] : [keyId]))
  }

  /** The open streams of a key, or of all keys. A copy: closing a stream changes the original. */
  streams(keyId?: string): readonly FeedStream[] {
    if (keyId !== undefined) return [...(this.#keys.get(keyId)?.streams ?? [])]
    return [...this.#keys.values()].flatMap(({ streams }) => [...streams])
  }

  /**
   * Reserves a connection for a key or person; the returned function releases it. Throws a Problem
   * `rate_limited` when they have as many as they may.
   */
  reserve(keyId: string, isObserver: boolean, isPerson = false): () => void {
    const key = this.#keys.get(keyId) ?? { isPerson, count: 0, observers: 0, streams: new Set() }
    const isFull = key.count >= limits.feed_connections_per_key_max
    if (isFull || (isObserver && key.observers >= limits.feed_observers_per_key_max)) {
      const quota = isFull ? limits.feed_connections_per_key_max : limits.feed_observers_per_key_max
      throw new Problem(
        'rate_limited',
        isPerson
          ? `You follow ${quota} feeds on this node already. Close pages of the console that you do not need.`
          : `This key has ${quota} ${isFull ? 'connections to' : 'observers of'} feeds on this node already. Close some, or use another key.`,
        {
          retryAfterSeconds: limits.feed_heartbeat_seconds,
          policy: { name: 'feed_connections', quota, windowSeconds: 1 },
        },
      )
    }
    key.count++
    if (isObserver) key.observers++
    this.#keys.set(keyId, key)
    let isReserved = true
    return () => {
      if (isReserved) this.#release(keyId, key, isObserver)
      isReserved = false
    }
  }

  /** Opens a stream on a reserved connection. */
  add(stream: FeedStream): void {
    this.#keys.get(stream.verifier.keyId)?.streams.add(stream)
  }

  /** A stream that was added has ended: releases its connection. */
  remove(stream: FeedStream): void {
    const { keyId, isObserver } = stream.verifier
    const key = this.#keys.get(keyId)
    if (key?.streams.delete(stream)) this.#release(keyId, key, isObserver)
  }

  #release(keyId: string, key: KeyStreams, isObserver: boolean): void {
    key.count--
    if (isObserver) key.observers--
    if (key.count === 0 && this.#keys.get(keyId) === key) this.#keys.delete(keyId)
  }
}
