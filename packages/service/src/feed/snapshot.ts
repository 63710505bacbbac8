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
   * What the node knows of the site. The snapshot is as of its head at the moment of the order,
   * however far it gets meanwhile.
   */
  readonly view: SiteView
  /** A time before the store was asked for what the view knows. */
  readonly asOfMs: number
  /** How long the head is valid. */
  readonly ageSecondsMax: number
  readonly signer: { readonly kid: string; readonly key: PrivateKey }
}

const PAGE = 1000

/**
 * All that a verifier of the site must know, in signed lines. The site and its issuers are written
 * down from the view, what was revoked from the log itself, in its order: a log is only ever added
 * to, so that up to a given entry it is the same whenever it is read, and no transaction has to
 * wait for a slow reader. The chain is recomputed on the way. Throws, and never signs, when it does
 * not lead to the head.
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
    // Neither a store that answers at once nor a reader that takes everything may keep other
    // requests waiting.
    await nextTurn()
  }
  if (hash !== head.hash) throw new Error(`the log of ${siteId} does not lead to its head at ${seqMax}`)
  const end = await signSnapshot(head, { lines, sha256: digest.digest('hex') }, signer.kid, signer.key)
  yield Buffer.from(`${JSON.stringify(end)}\n`)
}

/**
 * How the epoch of the log began, and those before it. Signed again for each snapshot, by the key
 * that signs now.
 */
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
 * A line has the members of its entry and a type, so the text of the body will do as it is.
 * Undefined for what needs no line of its own.
 */
function toLine({ kind, body, at }: EntryRecord, view: SiteView, tokensSince: string): string | undefined {
  switch (kind) {
    case 'user.revoked':
      return `{"type":"user",${body.slice(1)}`
    case 'credential.revoked':
      return `{"type":"credential",${body.slice(1)}`
    case 'token.revoked':
      // Both are written from the year down to the second, so their order is that of their texts.
      return at.slice(0, 19) < tokensSince.slice(0, 19) ? undefined : `{"type":"token",${body.slice(1)}`
    case 'user.reinstated':
      return JSON.stringify(reinstatedLine(JSON.parse(body), view))
    case 'site.changed':
    case 'issuer.trusted':
    case 'issuer.distrusted':
    case 'key.retired':
    case 'key.compromised':
      return undefined
    default:
      throw new Error(`no line of a snapshot says ${kind}`)
  }
}

/**
 * Of a user that was reinstated there are several lines, in the order of what happened. When it was
 * first revoked never changes.
 */
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
