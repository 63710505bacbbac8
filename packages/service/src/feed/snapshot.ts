import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  EPOCH_STATEMENTS_MAX,
  type EpochLine,
  formatTime,
  GENESIS_HASH,
  type Ppid,
  type PrivateKey,
  type SiteId,
  type SiteView,
  type SnapshotHead,
  signEpochStatement,
  signSnapshot,
  TOKEN_REVOCATIONS_KEPT_MS,
  toStateLines,
} from '@countersign/core'
import { hashEntry } from '../store/entry-hash.ts'
import type { EntryRecord } from '../store/operations/log.ts'
import type { Store } from '../store/store.ts'

export interface SnapshotOrder {
  readonly store: Pick<Store, 'siteRecordsAfter' | 'epochLinks'>
  /**
   * The node's view of the site. The snapshot ends at its head at the time of the call, however far
   * the view gets meanwhile.
   */
  readonly view: SiteView
  /** A time before the store was asked for the entries of the view. */
  readonly asOfMs: number
  /** How long the head is valid. */
  readonly ageSecondsMax: number
  readonly signer: { readonly kid: string; readonly key: PrivateKey }
}

const PAGE = 1000

/**
 * The state of a site for a verifier, in signed lines. The site and its issuers come from the view,
 * the revocations from the log, in its order. The log is append-only: up to a given entry it is the
 * same whenever it is read, so no transaction has to stay open for a slow reader. The hash chain is
 * recomputed on the way. Throws, without signing, when it does not lead to the head.
 */
export function createSnapshot(order: SnapshotOrder): AsyncIterable<Uint8Array> {
  const { siteId, head } = order.view
  const { epoch, seq, hash } = head
  const max_age_seconds = order.ageSecondsMax
  const first: SnapshotHead = {
    type: 'head',
    site_id: siteId,
    epoch,
    seq,
    hash,
    as_of: formatTime(order.asOfMs),
    max_age_seconds,
    base: { seq: 0, hash: GENESIS_HASH },
  }
  return pieces(order, first, toStateLines(order.view))
}

async function* pieces(
  { store, view, asOfMs, signer }: SnapshotOrder,
  head: SnapshotHead,
  state: ReturnType<typeof toStateLines>,
): AsyncGenerator<Uint8Array> {
  const { site_id: siteId, epoch, seq: seqMax } = head
  const digest = createHash('sha256')
  const tokensSince = formatTime(asOfMs - TOKEN_REVOCATIONS_KEPT_MS)
  let lines = 0
  const piece = (texts: readonly string[]): Uint8Array => {
    lines += texts.length
    const bytes = Buffer.from(`${texts.join('\n')}\n`)
    digest.update(bytes)
    return bytes
  }

  const epochs = await epochLines(store, siteId, signer)
  yield piece([head, ...epochs, ...state].map((line) => JSON.stringify(line)))
  let [seq, hash] = [0, GENESIS_HASH]
  while (seq < seqMax) {
    const page = await store.siteRecordsAfter(siteId, seq, Math.min(PAGE, seqMax - seq))
    if (page.length === 0) throw new Error(`the log of ${siteId} ends at ${seq} and not at ${seqMax}`)
    const texts: string[] = []
    for (const record of page) {
      hash = hashEntry({
        epoch,
        seq: ++seq,
        siteId,
        kind: record.kind,
        bodyJson: record.body,
        at: record.at,
        prevHash: hash,
      })
      const text = toLine(record, view, tokensSince)
      if (text !== undefined) texts.push(text)
    }
    if (texts.length > 0) yield piece(texts)
    // Lets other requests run, even if the store and the reader never make this loop wait.
    await nextTurn()
  }
  if (hash !== head.hash) throw new Error(`the log of ${siteId} does not lead to its head at ${seqMax}`)
  const end = await signSnapshot(head, { lines, sha256: digest.digest('hex') }, signer.kid, signer.key)
  yield Buffer.from(`${JSON.stringify(end)}\n`)
}

/** How this epoch of the log and the earlier ones began, signed by the current key. */
async function epochLines(
  store: Pick<Store, 'epochLinks'>,
  siteId: SiteId,
  { kid, key }: SnapshotOrder['signer'],
): Promise<readonly EpochLine[]> {
  const lines: EpochLine[] = []
  for (const { epoch, previous, atMs } of await store.epochLinks(siteId, EPOCH_STATEMENTS_MAX)) {
    const { seq, hash } = previous
    const fields = {
      site_id: siteId,
      epoch,
      previous: { epoch: previous.epoch, seq, hash },
      at: formatTime(atMs),
      kid,
    }
    lines.push({ type: 'epoch', ...(await signEpochStatement(fields, key)) })
  }
  return lines
}

/**
 * A line has the members of its entry and a type, so the text of the body is copied. Undefined for
 * entries that the state of the site includes already.
 */
function toLine({ kind, body, at }: EntryRecord, view: SiteView, tokensSince: string): string | undefined {
  switch (kind) {
    case 'user.revoked':
      return `{"type":"user",${body.slice(1)}`
    case 'user.signed_out':
      return `{"type":"signed_out",${body.slice(1)}`
    case 'holder.revoked':
      return `{"type":"holder",${body.slice(1)}`
    case 'credential.revoked':
      return `{"type":"credential",${body.slice(1)}`
    case 'token.revoked':
      // RFC 3339 times in UTC can be compared as text, down to the second.
      return at.slice(0, 19) < tokensSince.slice(0, 19) ? undefined : `{"type":"token",${body.slice(1)}`
    case 'user.reinstated':
      return JSON.stringify(reinstatedLine(JSON.parse(body), view))
    case 'site.changed':
    case 'site.cut_off':
    case 'issuer.trusted':
    case 'oauth_issuer.trusted':
    case 'issuer.cut_off':
    case 'issuer.distrusted':
    case 'key.retired':
    case 'key.compromised':
      return undefined
    default:
      throw new Error(`there is no snapshot line for ${kind}`)
  }
}

/** A reinstated user has several lines, in the order of the log, all with the first revocation. */
function reinstatedLine(
  { ppid, reinstated_at }: { ppid: Ppid; reinstated_at: string },
  view: SiteView,
): object {
  const firstMs = view.userRevocation(ppid, 0)?.sinceMs
  return {
    type: 'user',
    ppid,
    revoked_at: firstMs === undefined ? reinstated_at : formatTime(firstMs),
    reinstated_at,
  }
}
