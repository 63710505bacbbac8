import type { SiteId } from '@countersign/core'
import type { FeedStreamRow, RemoteAck } from '../store/operations/feed-streams.ts'
import type { FeedStream } from './feed-stream.ts'

/** A stream of this node, with the row that other nodes read about it. */
export interface LocalStream {
  readonly stream: FeedStream
  readonly row: { -readonly [Name in keyof FeedStreamRow]: FeedStreamRow[Name] }
}

/** The streams without an instance on this node. */
export class LocalStreams {
  readonly #streams = new Map<FeedStream, LocalStream>()
  /** By site and verifier id. */
  readonly #sites = new Map<SiteId, Map<string, readonly LocalStream[]>>()

  add(local: LocalStream): void {
    const { siteId, verifierId } = local.row
    this.#streams.set(local.stream, local)
    const site = this.#sites.get(siteId) ?? new Map<string, readonly LocalStream[]>()
    this.#sites.set(siteId, site.set(verifierId, [...(site.get(verifierId) ?? []), local]))
  }

  /** Returns the stream that was removed, if it was there. */
  remove(stream: FeedStream): LocalStream | undefined {
    const local = this.#streams.get(stream)
    if (local === undefined) return undefined
    this.#streams.delete(stream)
    const { siteId, verifierId } = local.row
    const site = this.#sites.get(siteId)
    const others = site?.get(verifierId)?.filter((each) => each !== local) ?? []
    if (others.length > 0) site?.set(verifierId, others)
    else site?.delete(verifierId)
    if (site?.size === 0) this.#sites.delete(siteId)
    return local
  }

  /** The streams that an acknowledgement is for: without a name, all without a name of that key. */
  find({ siteId, keyId, verifierId }: RemoteAck): readonly LocalStream[] {
    if (verifierId !== undefined)
      return (
        this.#sites
          .get(siteId)
          ?.get(verifierId)
          ?.filter(({ row }) => row.keyId === keyId) ?? []
      )
    return this.atSite(siteId).filter(({ row }) => row.keyId === keyId && !row.isNamed)
  }

  atSite(siteId: SiteId): readonly LocalStream[] {
    return [...(this.#sites.get(siteId)?.values() ?? [])].flat()
  }

  all(): Iterable<LocalStream> {
    return this.#streams.values()
  }
}
