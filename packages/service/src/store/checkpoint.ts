import type { SiteId } from '@countersign/core'

/**
 * The state of all sites at a position of the log. Entries up to the base may have been removed.
 * Before the first removal the base is position 0 with the digest of the empty log.
 */
export interface Checkpoint {
  readonly epoch: string
  readonly position: number
  /** Of all entries up to `position`, also those that were removed: see `nextDigest`. */
  readonly digest: string
  readonly basePosition: number
  readonly baseDigest: string
  /** How many sites it has. */
  readonly sites: number
  /** See `digestSites`. */
  readonly sitesSha256: string
  readonly atMs: number
}

/** A site of the checkpoint. Its row has no MAC: compare all of them with `sitesSha256`. */
export interface CheckpointSite {
  readonly siteId: SiteId
  /** The head of the site at the position of the checkpoint. */
  readonly seq: number
  readonly hash: string
  /** The head of the site at the base. */
  readonly baseSeq: number
  readonly baseHash: string
  /** Everything but the revocations, as JSON: see `CheckpointState`. */
  readonly state: string
  readonly pages: number
  /** See `digestPages`. */
  readonly pagesSha256: string
}

/** A page of a site without its content. */
export interface SitePageInfo {
  readonly fromSeq: number
  readonly toSeq: number
  /** Lines of the text. One line can have many revocations. */
  readonly lines: number
  readonly revocations: number
  /** The length, CRC-32 and SHA-256 of the text. */
  readonly bytes: number
  readonly crc32: number
  readonly sha256: string
  /** The latest time of a revocation, a sign-out or a reinstatement in it; 0 if there is none. */
  readonly newestAtMs: number
}

/** A page of a site: snapshot lines with the revocations in a range of seqs. */
export interface SitePage extends SitePageInfo {
  /** The text in raw DEFLATE blocks, none of them final, that end at a byte boundary. */
  readonly deflated: Uint8Array
}
