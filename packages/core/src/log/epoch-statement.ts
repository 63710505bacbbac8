import { parseSiteId, type SiteId } from '../credential/ids.ts'
import { canonicalJson } from '../encoding/jcs.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { isEpoch, isSeq, isSha256Hex } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import { isTime, parseFields } from './members.ts'
import type { LogHead } from './position.ts'
import { isKid, isSignature } from './signed-fields.ts'

/**
 * The service signs this when the log of a site begins a new epoch. It names the previous epoch and
 * the entry where that one ended.
 */
export interface EpochStatementFields {
  readonly site_id: SiteId
  readonly epoch: string
  /** The last entry that the new epoch continues from. */
  readonly previous: LogHead
  readonly at: string
  readonly kid: string
}

export interface EpochStatement extends EpochStatementFields {
  readonly signature: string
}

/** A snapshot contains at most this many statements, the newest ones. */
export const EPOCH_STATEMENTS_MAX = 16

/**
 * Undefined unless the value has exactly these members, each well-formed. Does not check the
 * signature.
 */
export function parseEpochStatement(value: unknown): EpochStatement | undefined {
  const { site_id, epoch, previous, at, kid, signature } = parseFields(value, 6) ?? {}
  const siteId = parseSiteId(site_id)
  const { epoch: previousEpoch, seq, hash } = parseFields(previous, 3) ?? {}
  if (siteId === undefined || !isEpoch(epoch) || !isEpoch(previousEpoch) || !isSeq(seq) || !isSha256Hex(hash))
    return undefined
  if (epoch === previousEpoch || !isTime(at) || !isKid(kid) || !isSignature(signature)) return undefined
  return { site_id: siteId, epoch, previous: { epoch: previousEpoch, seq, hash }, at, kid, signature }
}

/** The signed text. Its first line separates it from all other texts that a feed key signs. */
export function epochStatementText({ site_id, epoch, previous, at, kid }: EpochStatementFields): string {
  const { epoch: previousEpoch, seq, hash } = previous
  return `countersign-epoch\n${canonicalJson({ site_id, epoch, previous: { epoch: previousEpoch, seq, hash }, at, kid })}`
}

export async function signEpochStatement(
  fields: EpochStatementFields,
  key: PrivateKey,
): Promise<EpochStatement> {
  return { ...fields, signature: await signFeedText(epochStatementText(fields), key) }
}

/** Whether this key signed the statement. The caller finds the key by `kid`. */
export function checkEpochStatement(statement: EpochStatement, key: PublicKey): Promise<boolean> {
  return isFeedSignature(epochStatementText(statement), statement.signature, key)
}

/**
 * The statements that lead from one epoch to another, oldest first; undefined if one is missing.
 * The signatures must be verified already.
 */
export function findEpochPath(
  statements: readonly EpochStatement[],
  from: string,
  to: string,
): readonly EpochStatement[] | undefined {
  const path: EpochStatement[] = []
  for (let epoch = to; epoch !== from; ) {
    const link = statements.find((statement) => statement.epoch === epoch)
    if (link === undefined || path.includes(link)) return undefined
    path.unshift(link)
    epoch = link.previous.epoch
  }
  return path
}
